use std::{
    boxed::Box,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering::SeqCst},
    },
    vec::Vec,
};

use super::*;
use crate::Priority;
use crate::progress::Operation;

#[test]
fn smoke() {
    static POOL: SpinPool<TestCores<2, 64>> = pool(IdlePolicy::DEFAULT);
    const COUNT: usize = times(500);
    let count = Arc::new(AtomicU32::new(0));
    with_workers(&POOL, || {
        for _ in 0..COUNT {
            let count = count.clone();
            let mut closure = Some(move |worker: Worker<'_, TestCores<2, 64>>| {
                let inner = count.clone();
                worker.spawn(move |_| {
                    inner.fetch_add(1, SeqCst);
                });
                count.fetch_add(1, SeqCst);
            });
            while let Some(back) = closure.take() {
                closure = POOL.spawn(back).err().map(|error| {
                    assert_eq!(error.reason, SpawnErrorReason::Full);
                    thread::yield_now();
                    error.closure
                });
            }
        }
    });
    assert_eq!(
        count.load(SeqCst),
        2 * COUNT as u32,
        "the end waits for all of them"
    );
}

#[test]
fn a_static_closure() {
    static POOL: SpinPool<TestCores<1, 4>> = pool(IdlePolicy::DEFAULT);
    static COUNT: AtomicU32 = AtomicU32::new(0);
    static CLOSURE: fn(Worker<'_, TestCores<1, 4>>) = |_| {
        COUNT.fetch_add(1, SeqCst);
    };
    with_workers(&POOL, || POOL.spawn(&CLOSURE).unwrap());
    assert_eq!(COUNT.load(SeqCst), 1);
}

#[test]
fn refused_closures_are_returned() {
    static POOL: SpinPool<TestCores<1, 2>> = pool(IdlePolicy::DEFAULT);
    let value = Arc::new(());
    let spawn = || {
        let value = value.clone();
        POOL.spawn(move |_| drop(value))
    };
    assert!(spawn().is_ok() && spawn().is_ok());
    let error = spawn().unwrap_err();
    assert_eq!(error.reason, SpawnErrorReason::Full);
    assert_eq!(Arc::strong_count(&value), 4);
    drop(error);
    with_workers(&POOL, || ());
    assert_eq!(Arc::strong_count(&value), 1, "the first two have run");
    assert_eq!(spawn().unwrap_err().reason, SpawnErrorReason::Ended);
}

/// Checks that a closure finds room for another one in a pool that has room for one.
#[test]
fn a_closure_gives_its_slot_back_before_it_runs() {
    static POOL: SpinPool<TestCores<1, 1>> = pool(IdlePolicy::DEFAULT);
    static RUNS: AtomicU32 = AtomicU32::new(0);
    let spawned = POOL.spawn(|_| {
        let again = POOL.spawn(|_| _ = RUNS.fetch_add(1, SeqCst));
        assert!(again.is_ok(), "its own slot is free");
    });
    assert!(spawned.is_ok());
    with_workers(&POOL, || ());
    assert_eq!(RUNS.load(SeqCst), 1);
}

/// Checks that a full pool is also full for a worker, which runs the closure at once or gets it
/// back.
#[test]
fn workers_find_a_full_pool_full() {
    static POOL: SpinPool<TestCores<1, 2>> = pool(IdlePolicy::DEFAULT);
    let order = Arc::new(AtomicU32::new(0));
    POOL.run_with(0, |worker| {
        assert!(worker.try_spawn(|_| ()).is_ok() && worker.try_spawn(|_| ()).is_ok());
        let error = worker.try_spawn(|_| ()).unwrap_err();
        assert_eq!(error.reason, SpawnErrorReason::Full);
        let inner = order.clone();
        worker.spawn(move |_| inner.store(1, SeqCst));
        assert_eq!(order.load(SeqCst), 1, "within the call");
        while worker.yield_now() {}
    })
    .unwrap();
}

/// Schedules from an operation, and from a job that runs while an operation waits.
#[test]
fn operations_and_jobs_within_them_may_schedule() {
    static POOL: SpinPool<TestCores<1, 2>> = pool(IdlePolicy::DEFAULT);
    static RUNS: AtomicU32 = AtomicU32::new(0);
    fn schedule_another() {
        let operation = || {
            RUNS.fetch_add(1, SeqCst);
        };
        let operation = Box::leak(Box::new(Operation::new(operation)));
        POOL.with_current_worker(|worker| worker.unwrap().schedule(operation));
    }
    POOL.run_with(0, |worker| {
        let operation = Box::leak(Box::new(Operation::new(|| {
            POOL.with_current_worker(|worker| {
                worker.unwrap().spawn(|_| schedule_another());
                while worker.unwrap().yield_now() {}
            });
            schedule_another();
        })));
        worker.schedule(operation);
        while RUNS.load(SeqCst) < 2 {
            worker.yield_now();
        }
    })
    .unwrap();
}

/// Uses the pool from an operation.
#[test]
fn an_operation_searches_for_work() {
    static POOL: SpinPool<TestCores<1, 2>> = pool(IdlePolicy::DEFAULT);
    static RUNS: AtomicU32 = AtomicU32::new(0);
    POOL.run_with(0, |worker| {
        let operation = Box::leak(Box::new(Operation::new(|| {
            POOL.with_current_worker(|worker| {
                worker.unwrap().spawn(|_| {
                    RUNS.fetch_add(1, SeqCst);
                });
                while worker.unwrap().yield_now() {}
            });
        })));
        worker.schedule(operation);
        while RUNS.load(SeqCst) == 0 {
            worker.yield_now();
        }
    })
    .unwrap();
}

#[test]
fn one_core_runs_spawned_jobs_by_their_priority() {
    static POOL: SpinPool<TestCores<1, 4>> = pool(IdlePolicy::DEFAULT);
    static ORDER: Mutex<Vec<Priority>> = Mutex::new(Vec::new());
    static TASK: Task<TestCores<1, 4>> =
        Task::new(|_| ORDER.lock().unwrap().push(Priority::Urgent)).with_priority(Priority::Urgent);
    let kinds = [Priority::Background, Priority::Normal, Priority::Urgent];
    for kind in kinds {
        let spawned = POOL.spawn_with(kind, move |_| ORDER.lock().unwrap().push(kind));
        assert!(spawned.is_ok());
    }
    assert_eq!(POOL.spawn_task(&TASK), Ok(()));
    with_workers(&POOL, || ());
    let expected = [
        Priority::Urgent,
        Priority::Urgent,
        Priority::Normal,
        Priority::Background,
    ];
    assert_eq!(*ORDER.lock().unwrap(), expected);
}

#[test]
fn a_task_is_spawned_once_at_a_time() {
    static POOL: SpinPool<TestCores<1, 2>> = pool(IdlePolicy::DEFAULT);
    static RUNS: AtomicU32 = AtomicU32::new(0);
    static TASK: Task<TestCores<1, 2>> = Task::new(|_| {
        // A task may be spawned again while it runs.
        if RUNS.fetch_add(1, SeqCst) < 9 {
            POOL.spawn_task(&TASK).unwrap();
        }
    });
    assert_eq!(POOL.spawn_task(&TASK), Ok(()));
    assert_eq!(
        POOL.spawn_task(&TASK),
        Err(SpawnErrorReason::AlreadySpawned)
    );
    with_workers(&POOL, || ());
    assert_eq!(RUNS.load(SeqCst), 10);
    assert_eq!(POOL.spawn_task(&TASK), Err(SpawnErrorReason::Ended));
}

/// Spawns from many threads, instead of interrupt handlers.
#[test]
fn stampede() {
    static POOL: SpinPool<TestCores<2, 4>> = pool(IdlePolicy::DEFAULT);
    static RUNS: AtomicU32 = AtomicU32::new(0);
    static TASK: Task<TestCores<2, 4>> = Task::new(|_| {
        RUNS.fetch_add(1, SeqCst);
    });
    let spawned = AtomicU32::new(0);
    with_workers(&POOL, || {
        thread::scope(|threads| {
            for _ in 0..3 {
                threads.spawn(|| {
                    for _ in 0..times(300) {
                        let closures = POOL.spawn(|_| {
                            RUNS.fetch_add(1, SeqCst);
                        });
                        let count =
                            u32::from(closures.is_ok()) + u32::from(POOL.spawn_task(&TASK).is_ok());
                        spawned.fetch_add(count, SeqCst);
                    }
                });
            }
        });
    });
    assert_eq!(RUNS.load(SeqCst), spawned.into_inner(), "each once");
}

/// Checks that a scheduled operation runs only after every delay that it could affect.
#[test]
fn operations_wait_for_delays() {
    static POOL: SpinPool<TestCores<2, 4>> = pool(IdlePolicy::DEFAULT);
    static FREED: AtomicU32 = AtomicU32::new(0);
    with_workers(&POOL, || {
        let delay = POOL.delay();
        POOL.install(|worker| {
            let operation = Box::leak(Box::new(Operation::new(|| {
                FREED.fetch_add(1, SeqCst);
            })));
            worker.schedule(operation);
        });
        for _ in 0..20 {
            POOL.install(|_| assert_eq!(FREED.load(SeqCst), 0, "the delay may protect a reader"));
        }
        // Whether or not the workers sleep by now: nothing else wakes them.
        drop(delay);
        while FREED.load(SeqCst) == 0 {
            thread::yield_now();
        }
    });
    assert_eq!(FREED.load(SeqCst), 1);
}

#[test]
#[deny(unfulfilled_lint_expectations)]
fn the_compiler_finds_a_delay_that_ends_at_once() {
    static POOL: SpinPool<TestCores<1, 4>> = pool(IdlePolicy::DEFAULT);
    #[expect(unused_must_use, reason = "the compiler finds this line")]
    POOL.delay();
}

/// The condition of a worker's loop runs on a worker, whether or not the pool has ended.
#[test]
fn a_worker_spawns_nothing_after_the_end() {
    static POOL: SpinPool<TestCores<1, 4>> = pool(IdlePolicy::DEFAULT);
    static RUNS: AtomicU32 = AtomicU32::new(0);
    let mut is_first = true;
    let exit = POOL.run_worker_until(0, || {
        POOL.end();
        if core::mem::take(&mut is_first) {
            POOL.with_current_worker(|worker| {
                let worker = worker.expect("it runs on the worker");
                let refused = worker.try_spawn(|_| ()).unwrap_err();
                assert_eq!(refused.reason, crate::SpawnErrorReason::Ended);
                worker.spawn(|_| _ = RUNS.fetch_add(1, SeqCst));
                assert_eq!(RUNS.load(SeqCst), 1, "at once");
            });
        }
        false
    });
    assert_eq!(exit, Ok(crate::ExitReason::Ended));
}

/// Ends the pool in an operation, which holds no reference, and then uses functions that run their
/// jobs at once on a worker.
#[test]
fn an_operation_uses_the_pool_after_its_end() {
    static POOL: SpinPool<TestCores<1, 4>> = pool(IdlePolicy::DEFAULT);
    static RUNS: AtomicU32 = AtomicU32::new(0);
    let mut operation = Some(Box::leak(Box::new(Operation::new(|| {
        POOL.end();
        assert_eq!(POOL.install(|worker| worker.index()), 0);
        assert_eq!(POOL.try_install(|worker| worker.index()).ok(), Some(0));
        assert_eq!(POOL.broadcast(|worker| worker.index()), [Some(0)]);
        POOL.in_place_scope(&Arena::<1>::new(), |scope| {
            scope.spawn(|_, _| _ = RUNS.fetch_add(1, SeqCst));
        });
        let already = Err(crate::RunError::AlreadyWorker);
        assert_eq!(POOL.run_with(0, |_| ()), already);
    }))));
    let exit = POOL.run_worker_until(0, || {
        if let Some(operation) = operation.take() {
            POOL.with_current_worker(|worker| worker.unwrap().schedule(operation));
        }
        false
    });
    assert_eq!(exit, Ok(crate::ExitReason::Ended));
    assert_eq!(RUNS.load(SeqCst), 1);
}
