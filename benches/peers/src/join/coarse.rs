//! Two long computations: the other worker must be there at once, and nothing else matters.

use protocol::{Unit, time};

use super::Program;
use crate::{computation::compute, fork_join::ForkJoin};

pub(super) struct Coarse;

const MILLISECONDS: u32 = 10;

impl Program for Coarse {
    const NAME: &str = "coarse";
    const UNIT: Unit = Unit::Milliseconds;

    fn measure<P: ForkJoin>(pool: &P) -> f64 {
        let two = |context: &mut P::Context<'_>| {
            P::join(
                context,
                |_| compute(MILLISECONDS),
                |_| compute(MILLISECONDS),
            )
        };
        let time = time(|| {
            let (left, right) = pool.run(two);
            assert_eq!(left, right);
        });
        Self::UNIT.of(time)
    }
}
