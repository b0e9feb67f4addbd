//! Waits in isolation, which run only what they wait for.

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use super::*;
use crate::Isolation;

/// Checks that a wait does not run what nothing waits for, although it was spawned last.
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

/// Checks that the worker that waits for a scope finds what a thread outside has spawned in it. No
/// other worker is there.
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

/// Checks the same for a worker that leaves. Its deque is no place where the one that waits looks.
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
