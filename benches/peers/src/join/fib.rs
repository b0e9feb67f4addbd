//! Fibonacci numbers: nothing but joins.

use std::time::Duration;

use protocol::{Unit, time};

use super::{Program, written::for_all_systems};

pub(super) struct Fib;

const N: u32 = 32;
pub(super) const FIB_OF_N: u64 = 2_178_309;
/// `fib(n)` makes `fib(n + 1) - 1` joins.
const JOINS: f64 = 3_524_577.0;

impl Program for Fib {
    const NAME: &str = "fib32";
    const UNIT: Unit = Unit::Nanoseconds;

    /// For a join.
    fn result_of(time: Duration) -> f64 {
        Self::UNIT.of(time) / JOINS
    }
}

macro_rules! functions {
    ($Context:ty, $join:ident, $own:tt) => {
        fn run(context: &mut $Context) {
            assert_eq!(fib(context, N), FIB_OF_N);
        }

        fn fib(context: &mut $Context, n: u32) -> u64 {
            if n < 2 {
                return u64::from(n);
            }
            let (a, b) = $join!($own context, fib(context, n - 1), fib(context, n - 2));
            a + b
        }
    };
}

for_all_systems!(Fib, functions, [move]);

/// The same by our joins that are given their worker. Nanoseconds for a join.
pub(super) fn measure_with_worker(pool: &pool_std::ThreadPool) -> f64 {
    let time = time(|| {
        assert_eq!(
            pool.install_with(|worker| fib_with_worker(worker, N)),
            FIB_OF_N
        )
    });
    Fib::result_of(time)
}

fn fib_with_worker(worker: pool_std::Worker<'_>, n: u32) -> u64 {
    if n < 2 {
        return u64::from(n);
    }
    let (a, b) = worker.join(
        move |worker| fib_with_worker(worker, n - 1),
        move |worker| fib_with_worker(worker, n - 2),
    );
    a + b
}
