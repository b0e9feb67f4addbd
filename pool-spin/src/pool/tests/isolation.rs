//! Waits in isolation, which run only the jobs that they wait for.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::SeqCst};

use super::*;
use crate::Isolation;

/// Checks that a wait does not run a job for which it does not wait, although the job was spawned
/// last.
#[test]
fn a_wait_leaves_a_spawned_closure_alone() {
    static POOL: SpinPool<TestCores<1, 4>> = pool(IdlePolicy::DEFAULT);
    static RUNS: AtomicU32 = AtomicU32::new(0);
    POOL.run_with(0, |core| {
        core.isolate(Isolation::Subtree, || {
            core.scope(|scope| {
                scope.spawn(|_, _| ());
                core.spawn(|_| _ = RUNS.fetch_add(1, SeqCst));
            });
        });
        assert_eq!(RUNS.load(SeqCst), 0);
        while core.yield_now() {}
        assert_eq!(RUNS.load(SeqCst), 1);
    })
    .unwrap();
}

/// Checks that the worker that waits for a scope finds the closures that a thread outside has
/// spawned in it. There is no other worker.
#[test]
fn a_scope_runs_what_a_thread_outside_spawns() {
    static POOL: SpinPool<TestCores<1, 4>> = pool(IdlePolicy::DEFAULT);
    let runs = AtomicU32::new(0);
    POOL.run_with(0, |core| {
        core.isolate(Isolation::Subtree, || {
            core.scope(|scope| {
                thread::scope(|threads| {
                    threads.spawn(|| scope.spawn(|_, _| _ = runs.fetch_add(1, SeqCst)));
                });
            });
        });
    })
    .unwrap();
    assert_eq!(runs.into_inner(), 1);
}

/// Checks the same for a worker that leaves. The waiting worker does not look into its deque.
#[test]
fn a_scope_runs_what_a_worker_spawns_that_leaves() {
    static POOL: SpinPool<TestCores<2, 4>> = pool(IdlePolicy::DEFAULT);
    let runs = AtomicU32::new(0);
    POOL.run_with(0, |core| {
        core.isolate(Isolation::Subtree, || {
            core.scope(|scope| {
                let visit =
                    || POOL.run_with(1, |_| scope.spawn(|_, _| _ = runs.fetch_add(1, SeqCst)));
                thread::scope(|threads| {
                    threads.spawn(|| visit().unwrap());
                });
            });
        });
    })
    .unwrap();
    assert_eq!(runs.into_inner(), 1);
}

/// Checks the same for a worker that has stolen one of the closures together with others, and is
/// released before it has run those. The worker that has spawned them has left by then.
#[test]
fn a_scope_runs_what_a_released_worker_has_stolen() {
    const CLOSURES: usize = 5;
    static POOL: SpinPool<TestCores<3, 8>> = pool(IdlePolicy::DEFAULT);
    let (runs, begun, is_released) = (
        &AtomicUsize::new(0),
        &AtomicUsize::new(0),
        &AtomicBool::new(false),
    );
    let wait_until = |condition: &dyn Fn() -> bool| {
        while !condition() {
            thread::yield_now();
        }
    };
    let queued = || POOL.worker_metrics(2).unwrap().queued;
    let left = POOL.run_with(0, |core| {
        core.isolate(Isolation::Subtree, || {
            core.scope(|scope| {
                // The first steal takes one closure, and the second one also the next.
                let spawn = |number| {
                    scope.spawn(move |_, _| {
                        begun.fetch_add(1, SeqCst);
                        while number == 1 && !is_released.load(SeqCst) {
                            thread::yield_now();
                        }
                        runs.fetch_add(1, SeqCst);
                    });
                };
                let visit = |_: Worker<'_, _>| {
                    (0..CLOSURES).for_each(spawn);
                    wait_until(&|| begun.load(SeqCst) >= 2);
                };
                thread::scope(|threads| {
                    threads.spawn(|| POOL.run_with(1, visit).unwrap());
                    let thief = threads.spawn(|| POOL.run_worker(2));
                    wait_until(&|| begun.load(SeqCst) >= 2);
                    POOL.release_worker(2).unwrap();
                    is_released.store(true, SeqCst);
                    assert_eq!(thief.join().unwrap(), Ok(ExitReason::Released));
                });
                let left = queued();
                // Otherwise a test that fails would not end.
                thread::scope(|threads| {
                    threads.spawn(|| POOL.run_with(2, |core| while core.yield_now() {}).unwrap());
                });
                left
            })
        })
    });
    assert_eq!(left, Ok(0));
    assert_eq!(runs.load(SeqCst), CLOSURES);
}

#[test]
fn a_broadcast_is_isolated_as_its_caller_is() {
    static POOL: SpinPool<TestCores<2, 4>> = pool(IdlePolicy::DEFAULT);
    let isolations = |core: Worker<'_, _>| {
        let broadcast = || POOL.broadcast(|core| core.0.isolation());
        core.isolate(Isolation::Subtree, broadcast)
    };
    with_workers(&POOL, || {
        assert_eq!(POOL.install(isolations), [Some(Isolation::Subtree); 2]);
        let others = POOL.broadcast(|core| core.0.isolation());
        assert_eq!(others, [Some(Isolation::Anything); 2]);
    });
}

/// A thread outside finds the arena full, while the only other worker waits for that thread.
#[test]
fn a_scope_runs_what_finds_its_arena_full() {
    const CLOSURES: usize = times(200);
    static POOL: SpinPool<TestCores<2, 4>> = pool(IdlePolicy::DEFAULT);
    static RUNS: AtomicUsize = AtomicUsize::new(0);
    let has_begun = AtomicBool::new(false);
    let has_begun = &has_begun;
    let fill = |scope: &Scope<'_, _>| {
        for _ in 0..CLOSURES {
            scope.spawn(|_, _| _ = RUNS.fetch_add(1, SeqCst));
        }
    };
    with_workers(&POOL, || {
        POOL.install(|worker| {
            worker.isolate(Isolation::Subtree, || {
                worker.scope_in(&Arena::<1>::new(), |scope| {
                    scope.spawn(move |_, scope| {
                        has_begun.store(true, SeqCst);
                        thread::scope(|threads| _ = threads.spawn(|| fill(scope)));
                    });
                    // This runs on the other worker.
                    while !has_begun.load(SeqCst) {
                        thread::yield_now();
                    }
                });
            });
        });
    });
    assert_eq!(RUNS.load(SeqCst), CLOSURES);
}

/// Like the test above, but the worker that waits for the scope runs the closure that waits for the
/// thread. The other worker is free.
#[test]
fn a_free_worker_runs_what_finds_an_arena_full() {
    static POOL: SpinPool<TestCores<2, 4>> = pool(IdlePolicy::DEFAULT);
    static RUNS: AtomicU32 = AtomicU32::new(0);
    let fill = |scope: &Scope<'_, _>| {
        (0..3).for_each(|_| scope.spawn(|_, _| _ = RUNS.fetch_add(1, SeqCst)));
    };
    POOL.run_with(0, |core| {
        core.isolate(Isolation::Subtree, || {
            core.scope_in(&Arena::<1>::new(), |scope| {
                scope.spawn(|_, scope| {
                    thread::scope(|threads| {
                        let other = threads.spawn(|| POOL.run_worker(1));
                        threads.spawn(|| fill(scope)).join().unwrap();
                        assert_eq!(RUNS.load(SeqCst), 2, "one has a slot");
                        while POOL.release_worker(1).is_err() {
                            thread::yield_now();
                        }
                        assert_eq!(other.join().unwrap(), Ok(ExitReason::Released));
                    });
                });
            });
        });
    })
    .unwrap();
    assert_eq!(RUNS.load(SeqCst), 3);
}
