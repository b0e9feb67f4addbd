//! Fibonacci numbers: nothing but joins.

use protocol::{Unit, time};

use super::Program;
use crate::fork_join::ForkJoin;

pub(super) struct Fib;

const N: u32 = 32;
const FIB_OF_N: u64 = 2_178_309;
/// `fib(n)` makes `fib(n + 1) - 1` joins.
const JOINS: f64 = 3_524_577.0;

impl Program for Fib {
    const NAME: &str = "fib32";
    const UNIT: Unit = Unit::Nanoseconds;

    fn measure<P: ForkJoin>(pool: &P) -> f64 {
        let time = time(|| assert_eq!(pool.run(|context| fib::<P>(context, N)), FIB_OF_N));
        Self::UNIT.of(time) / JOINS
    }
}

fn fib<P: ForkJoin>(context: &mut P::Context<'_>, n: u32) -> u64 {
    if n < 2 {
        return u64::from(n);
    }
    let (a, b) = P::join(
        context,
        |context| fib::<P>(context, n - 1),
        |context| fib::<P>(context, n - 2),
    );
    a + b
}
