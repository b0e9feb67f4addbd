//! Two long computations: the other worker must be there at once, and nothing else matters.

use protocol::{Unit, time};

use super::{Program, Written};
use crate::{computation::compute, fork_join::ForkJoin};

pub(super) struct Coarse;

const MILLISECONDS: u32 = 10;
/// How many pairs are computed one after the other. In which of them the system moves a worker to
/// the other processor is a matter of luck.
const PAIRS: u32 = 5;

impl Program for Coarse {
    const NAME: &str = "coarse";
    const UNIT: Unit = Unit::Milliseconds;
}

impl<P: ForkJoin> Written<P> for Coarse {
    fn measure(pool: &P) -> f64 {
        let pairs = |context: &mut P::Context<'_>| {
            for _ in 0..PAIRS {
                let (left, right) = P::join(
                    context,
                    |_| compute(MILLISECONDS),
                    |_| compute(MILLISECONDS),
                );
                assert_eq!(left, right);
            }
        };
        let time = time(|| pool.run(pairs));
        Self::UNIT.of(time) / f64::from(PAIRS)
    }
}
