//! A process that forks after it has used the pool. In a program of its own.

#![cfg(all(any(target_os = "linux", target_os = "android"), not(miri)))]

#[path = "../../../pool-std/tests/support/fork.rs"]
#[allow(dead_code, reason = "another crate's tests use the rest")]
mod support;

use std::{
    process,
    sync::atomic::{AtomicUsize, Ordering::SeqCst},
};

use rayon_core::{ThreadBuilder, ThreadPoolBuilder};
use support::{End, alone, end_of, fork, in_child};

fn the_global_pool_works() -> bool {
    let count = AtomicUsize::new(0);
    rayon_core::scope(|scope| {
        for _ in 0..10 {
            scope.spawn(|_| _ = count.fetch_add(1, SeqCst));
        }
    });
    let sum = rayon_core::join(|| 1, || rayon_core::join(|| 2, || 3));
    let threads = rayon_core::broadcast(|_| ()).len();
    count.into_inner() == 10 && sum == (1, (2, 3)) && threads == rayon_core::current_num_threads()
}

/// With the published rayon-core such a child waits for good.
#[test]
fn a_child_has_a_global_pool_of_its_own() {
    alone(|| {
        assert!(the_global_pool_works());
        for _ in 0..20 {
            in_child(the_global_pool_works);
            assert!(the_global_pool_works());
        }
        in_child(|| {
            let builder = rayon_core::ThreadPoolBuilder::new().num_threads(3);
            builder.build_global().is_ok() && rayon_core::current_num_threads() == 3
        });
    });
}

/// The scope of the standard library would wait for the threads as well.
#[test]
fn a_child_that_leaves_a_scoped_pool_is_ended() {
    alone(|| {
        for threads in 1..3 {
            let builder = ThreadPoolBuilder::new().num_threads(threads);
            let child = builder.build_scoped(ThreadBuilder::run, |_| fork());
            // The child does not come here.
            let Some(child) = child.unwrap() else {
                process::exit(1)
            };
            assert_eq!(end_of(child), End::Signal(libc::SIGABRT));
        }
    });
}
