//! A whole pool, on threads.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Barrier,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
};

use super::super::*;
use crate::{
    job::{JobContext, StackJob},
    latch::BlockingLatch,
    queue::JobQueue,
    testing::{
        DEQUE_CAPACITY, Test, TestAwake, TestHinted, TestPlatform, TestTogether, on_platform,
        with_pool_on,
    },
};

mod many;

use many::{
    a_broadcast_reaches_sleeping_workers, jobs_broadcast_before_a_panic_of_their_iterator_are_run,
    jobs_injected_before_a_panic_of_their_iterator_are_run,
};

/// The whole suite on one platform.
macro_rules! suite {
    ($name:ident, $platform:ty) => {
        on_platform! { $name, $platform:
            smoke
            recursion_deeper_than_the_deque_runs_at_once
            a_queued_job_is_stolen_under_a_long_leaf
            an_overlooked_job_is_stolen_before_the_next_one
            a_closure_is_told_exactly_whether_it_migrated
            another_job_at_the_position_of_the_second_half
            panics_in_join
            closures_are_dropped_once
            a_panic_outlasts_the_drop_of_what_is_not_run
            calls_across_pools
            a_broadcast_reaches_sleeping_workers
            jobs_injected_before_a_panic_of_their_iterator_are_run
            jobs_broadcast_before_a_panic_of_their_iterator_are_run
            stampede_of_calls_from_outside
            there_is_one_of_each_worker
        }
    };
}

suite!(jec, super::Test);
suite!(classic, super::TestTogether);
suite!(hints, super::TestHinted);
suite!(busy, super::TestAwake);

/// Returns the number of the worker that this thread is.
fn here<P: TestPlatform>() -> usize {
    // SAFETY: 1. it is used at once.
    unsafe { WorkerThread::<P>::current() }
        .unwrap()
        .index()
        .get()
}

fn fib<P: TestPlatform>(worker: &WorkerThread<P>, n: u32) -> u32 {
    if n < 2 {
        return n;
    }
    // SAFETY: 1. they are used at once. The closures may run on other workers.
    let current = || unsafe { WorkerThread::<P>::current() }.unwrap();
    let (a, b) = worker.join_context(|_| fib(current(), n - 1), |_| fib(current(), n - 2), false);
    a + b
}

fn smoke<P: TestPlatform>() {
    let n = if cfg!(miri) { 6 } else { 18 };
    for workers in 1..=3 {
        let result = with_pool_on::<P, _>(workers, |registry| {
            registry.in_worker(|worker, _| fib(worker, n))
        });
        assert_eq!(result, if n == 6 { 8 } else { 2584 });
    }
}

fn recursion_deeper_than_the_deque_runs_at_once<P: TestPlatform>() {
    fn nest<P: TestPlatform>(worker: &WorkerThread<P>, depth: usize) -> usize {
        if depth == 0 {
            return 0;
        }
        // SAFETY: 1. it is used at once.
        let current = || unsafe { WorkerThread::<P>::current() }.unwrap();
        let (deep, one) = worker.join_context(|_| nest(current(), depth - 1), |_| 1, false);
        deep + one
    }
    with_pool_on::<P, _>(1, |registry| {
        let depth = 5 * DEQUE_CAPACITY;
        assert_eq!(registry.in_worker(|worker, _| nest(worker, depth)), depth);
    });
}

/// Runs both closures at the same time, or never ends: the second must be stealable while the first
/// runs on and on. That a sleeping worker does not overlook it is promised to a worker that has
/// found its fast push disabled.
fn a_queued_job_is_stolen_under_a_long_leaf<P: TestPlatform>() {
    with_pool_on::<P, _>(2, |registry| {
        for _ in 0..if cfg!(miri) { 3 } else { 300 } {
            let barrier = Barrier::new(2);
            let (a, b) = registry.in_worker(|worker, _| {
                worker.shared().deque.disable_fast_push();
                worker.join_context(
                    |_| barrier.wait().is_leader(),
                    |_| barrier.wait().is_leader(),
                    false,
                )
            });
            assert!(a ^ b);
        }
    });
}

/// Checks that a job that was overlooked, as one may be while fast push is enabled, is stolen when
/// the next one is announced.
fn an_overlooked_job_is_stolen_before_the_next_one<P: TestPlatform>() {
    with_pool_on::<P, _>(2, |registry| {
        for _ in 0..if cfg!(miri) { 3 } else { 300 } {
            let barrier = Barrier::new(2);
            let wait = || barrier.wait().is_leader();
            let (a, b) = registry.in_worker(|worker, _| {
                // So that no thief is woken for it. A thief that searches may find it nevertheless.
                worker.own().enable_fast_push(|| true);
                let first = |by: JobContext<'_, P>| {
                    let next = StackJob::new(|_| (), BlockingLatch::<P>::new());
                    // SAFETY: `as_job_ref`: 1. we wait below; `post`: it is posted once.
                    unsafe { by.worker().post(next.as_job_ref()) };
                    let is_leader = wait();
                    by.worker().yield_local();
                    next.latch().wait();
                    is_leader
                };
                worker.join_context(first, |_| wait(), false)
            });
            assert!(a ^ b);
        }
    });
}

fn a_closure_is_told_exactly_whether_it_migrated<P: TestPlatform>() {
    with_pool_on::<P, _>(2, |registry| {
        let barrier = Barrier::new(2);
        let (a, b) = registry.in_worker(|worker, migrated| {
            assert!(migrated, "it came from outside");
            let wait = |migrated| {
                barrier.wait();
                migrated
            };
            worker.join_context(|by| wait(by.migrated()), |by| wait(by.migrated()), false)
        });
        assert_eq!((a, b), (false, true));
    });
}

/// Runs the second half early, within the first one, and queues something else where it was. The
/// join must not take that for its own.
fn another_job_at_the_position_of_the_second_half<P: TestPlatform>() {
    with_pool_on::<P, _>(1, |registry| {
        let within = |worker: &WorkerThread<P>| {
            let other = StackJob::new(|_| here::<P>(), BlockingLatch::<P>::new());
            let first = |by: JobContext<'_, P>| {
                assert!(by.worker().yield_local(), "the second half is there");
                // SAFETY: `as_job_ref`: 1. we wait below; `post`: it is posted once.
                unsafe { by.worker().post(other.as_job_ref()) };
                1
            };
            let joined = worker.join_context(first, |by| 1 + usize::from(by.migrated()), false);
            assert_eq!(joined, (1, 2));
            assert!(
                worker.yield_local(),
                "the other job is not part of the join"
            );
            // SAFETY: 1. it has been run, just now; 2. once.
            assert_eq!(unsafe { other.take_result() }, 0);
        };
        // The first join of a worker takes another path than those after it.
        for _ in 0..3 {
            // The outer join's job lies below, or the last position would not be used again.
            registry.in_worker(|worker, _| {
                worker.join_context(|by| within(by.worker()), |_| (), false);
            });
        }
    });
}

/// Checks that a panic in either half ends the wait, and that of the first half counts (rayon#10).
fn panics_in_join<P: TestPlatform>() {
    with_pool_on::<P, _>(2, |registry| {
        for (a, b, expected) in [(true, false, "a"), (false, true, "b"), (true, true, "a")] {
            let ended = AtomicUsize::new(0);
            let run = |name: &'static str, fails: bool| {
                ended.fetch_add(1, SeqCst);
                if fails {
                    std::panic::panic_any(name);
                }
            };
            let panic = catch_unwind(AssertUnwindSafe(|| {
                registry.in_worker(|worker, _| {
                    worker.join_context(|_| run("a", a), |_| run("b", b), false)
                })
            }))
            .unwrap_err();
            assert_eq!(*panic.downcast::<&str>().unwrap(), expected);
            assert_eq!(
                ended.load(SeqCst),
                2,
                "both have ended before the panic goes on"
            );
        }
    });
}

/// Joins closures that stay in place or are moved, in deques with and without room, and checks that
/// each is run or dropped once, also if the first half panics.
fn closures_are_dropped_once<P: TestPlatform>() {
    type Value = Arc<()>;

    fn nest<P: TestPlatform>(worker: &WorkerThread<P>, value: &Value, depth: usize, fails: bool) {
        if depth == 0 {
            assert!(!fails, "on purpose");
            return;
        }
        let small = || value.clone();
        let large = || (value.clone(), [depth, !depth]);
        let check = |(_, [a, b]): (Value, [usize; 2])| assert_eq!(a, !b);
        let (a, b, c, d) = (large(), large(), small(), small());
        let deeper = |by: JobContext<'_, P>| nest(by.worker(), value, depth - 1, fails);
        match depth % 4 {
            0 => worker.join_context(move |by| (deeper(by), check(a)).0, move |_| check(b), false),
            1 => worker.join_context(move |by| (deeper(by), check(a)).0, move |_| drop(c), false),
            2 => worker.join_context(deeper, move |_| check(b), false),
            _ => worker.join_context(deeper, move |_| drop(d), false),
        };
    }

    with_pool_on::<P, _>(2, |registry| {
        let deepest = DEQUE_CAPACITY + 4;
        for depth in if cfg!(miri) { deepest } else { 0 }..=deepest {
            for fails in [false, true] {
                let value = Arc::new(());
                let result = catch_unwind(AssertUnwindSafe(|| {
                    registry.in_worker(|worker, _| nest(worker, &value, depth, fails));
                }));
                assert_eq!(result.is_err(), fails);
                assert_eq!(Arc::strong_count(&value), 1);
            }
        }
    });
}

/// Checks that the panic of the first half counts, also if the deque is full, so that the second
/// half is not run, and its drop panics.
fn a_panic_outlasts_the_drop_of_what_is_not_run<P: TestPlatform>() {
    struct PanicsInDrop;

    impl Drop for PanicsInDrop {
        fn drop(&mut self) {
            std::panic::panic_any("drop");
        }
    }

    fn nest<P: TestPlatform>(worker: &WorkerThread<P>, depth: usize) {
        if depth > 0 {
            worker.join_context(|by| nest(by.worker(), depth - 1), |_| (), false);
            return;
        }
        let value = PanicsInDrop;
        let fail = |_: JobContext<'_, P>| -> () { std::panic::panic_any("first half") };
        worker.join_context(fail, move |_| core::mem::forget(value), false);
    }

    with_pool_on::<P, _>(1, |registry| {
        let panic = catch_unwind(AssertUnwindSafe(|| {
            registry.in_worker(|worker, _| nest(worker, DEQUE_CAPACITY));
        }));
        let panic = panic.unwrap_err().downcast::<&str>();
        assert_eq!(*panic.unwrap(), "first half");
    });
}

/// Checks that nested and cross-pool calls neither deadlock nor run on the wrong pool (rayon#446,
/// #819).
fn calls_across_pools<P: TestPlatform>() {
    with_pool_on::<P, _>(1, |first| {
        with_pool_on::<P, _>(1, |second| {
            let on = |registry: &Registry<P>, worker: &WorkerThread<P>| {
                assert!(ptr::eq(registry, worker.registry()));
            };
            let answer = first.in_worker(|worker, _| {
                on(first, worker);
                first.in_worker(|worker, migrated| {
                    assert!(!migrated);
                    on(first, worker);
                });
                second.in_worker(|worker, _| {
                    on(second, worker);
                    // `first` has one worker, and it waits for us: it must run this meanwhile.
                    first.in_worker(|worker, _| {
                        on(first, worker);
                        42
                    })
                })
            });
            assert_eq!(answer, 42);
        });
    });
}

/// Calls from many threads at once, while the workers fall asleep and wake.
fn stampede_of_calls_from_outside<P: TestPlatform>() {
    let (threads, calls) = if cfg!(miri) { (2, 3) } else { (4, 1_000) };
    with_pool_on::<P, _>(2, |registry| {
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    for call in 0..calls {
                        assert_eq!(
                            registry.in_worker(|_, migrated| (call, migrated)),
                            (call, true)
                        );
                    }
                });
            }
        });
    });
}

fn there_is_one_of_each_worker<P: TestPlatform>() {
    with_pool_on::<P, _>(1, |registry| {
        registry.in_worker(|worker, _| {
            // SAFETY: 1. the registry is held by the test; 2. it is the `Arc`'s pointer.
            assert!(unsafe { WorkerThread::new(Arc::as_ptr(registry), worker.index()) }.is_none());
        });
        assert!(registry.worker(1).is_err());
    });
}
