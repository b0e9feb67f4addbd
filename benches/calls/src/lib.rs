//! The code that a program gets for each join, installed closure, scope and spawn that it has.
//!
//! A program's closures have types of their own, so a pool's generic functions are compiled for
//! each of them. The programs of this package have one call of each kind, or two hundred.

/// Makes a program that calls a pool once in each way, or with a second argument two hundred times.
#[macro_export]
macro_rules! program {
    ($pool:ident) => {
        $crate::program!(@main $pool, pool, numbers, calls::<0, 0>(&pool, &numbers));
    };
    ($pool:ident, many) => {
        $crate::program!(@main $pool, pool, numbers, {
            $crate::program!(@tens pool, numbers; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19)
        });
    };
    (@tens $on:ident, $numbers:ident; $($ten:literal)*) => {
        0 $(+ $crate::program!(@ones $on, $numbers; $ten; 0 1 2 3 4 5 6 7 8 9))*
    };
    (@ones $on:ident, $numbers:ident; $ten:literal; $($one:literal)*) => {
        0 $(+ calls::<$ten, $one>(&$on, &$numbers))*
    };
    (@main $pool:ident, $on:ident, $numbers:ident, $calls:expr) => {
        use std::{
            hint::black_box,
            sync::atomic::{AtomicUsize, Ordering::Relaxed},
        };

        use $pool::{ThreadPool, ThreadPoolBuilder};

        static SPAWNED: AtomicUsize = AtomicUsize::new(0);

        /// Calls the pool in each way, with closures that no other call has.
        #[inline(never)]
        fn calls<const A: usize, const B: usize>(pool: &ThreadPool, numbers: &[usize]) -> usize {
            let first = || numbers.iter().fold(A, |sum, number| sum ^ (number + B));
            let (first, second) = $pool::join(first, || numbers.len() * A + B);
            let third = pool.install(|| numbers.iter().fold(B, |sum, number| sum ^ (number * A)));
            let spawned = AtomicUsize::new(0);
            $pool::scope(|scope| {
                scope.spawn(|_| _ = spawned.fetch_add(numbers.len() + A, Relaxed));
                scope.spawn(|_| _ = spawned.fetch_add(numbers.len() * B, Relaxed));
            });
            $pool::spawn(|| _ = SPAWNED.fetch_add(A * 10 + B, Relaxed));
            first ^ second ^ third ^ spawned.into_inner()
        }

        fn main() {
            let $on = ThreadPoolBuilder::new().num_threads(2).build();
            let $on = $on.expect("the system has threads");
            let $numbers = black_box([1, 2, 3]);
            black_box($calls);
        }
    };
}
