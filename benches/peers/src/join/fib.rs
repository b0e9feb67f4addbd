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

/// The same by our joins that are given their worker. Nanoseconds for a join.
pub(super) fn measure_with_worker(pool: &pool_std::ThreadPool) -> f64 {
    let time = time(|| {
        assert_eq!(
            pool.install_with(|worker| fib_with_worker(worker, N)),
            FIB_OF_N
        )
    });
    Fib::UNIT.of(time) / JOINS
}

fn fib_with_worker(worker: pool_std::Worker<'_>, n: u32) -> u64 {
    if n < 2 {
        return u64::from(n);
    }
    let (a, b) = worker.join(
        |worker| fib_with_worker(worker, n - 1),
        |worker| fib_with_worker(worker, n - 2),
    );
    a + b
}
