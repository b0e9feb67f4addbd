//! Scopes whose worker waits in isolation, and jobs that threads outside the pool spawn in them.

use super::*;

/// Opens a scope in an isolated call: from this thread, or on a worker.
fn in_each_call(pool: &ThreadPool, test: impl Fn() + Sync) {
    pool.call(&test);
    pool.install(|| isolate(&test));
}

/// Waits in the body of a scope for a job that another thread spawns in it.
fn wait_in_the_body() -> Result<u32, mpsc::RecvTimeoutError> {
    let (sender, receiver) = mpsc::channel();
    pool_std::scope(move |scope| {
        thread::scope(|threads| {
            threads.spawn(|| scope.spawn(move |_| sender.send(7).unwrap()));
            receiver.recv_timeout(LIMIT)
        })
    })
}

#[test]
fn another_worker_runs_a_job_for_which_the_body_waits() {
    for workers in [2, 4] {
        in_each_call(&pool_with_guests(workers), || {
            assert_eq!(wait_in_the_body(), Ok(7))
        });
    }
}

#[test]
fn jobs_of_other_threads_run_at_the_same_time() {
    in_each_call(&pool_with_guests(3), || {
        let meets = (AtomicUsize::new(0), AtomicUsize::new(0));
        pool_std::scope(|scope| {
            thread::scope(|threads| {
                threads.spawn(|| {
                    for _ in 0..2 {
                        scope.spawn(|_| {
                            meets.0.fetch_add(1, SeqCst);
                            let begin = Instant::now();
                            while meets.0.load(SeqCst) < 2 && begin.elapsed() < LIMIT {
                                thread::yield_now();
                            }
                            meets
                                .1
                                .fetch_add(usize::from(meets.0.load(SeqCst) == 2), SeqCst);
                        });
                    }
                });
            });
        });
        assert_eq!(meets.1.into_inner(), 2);
    });
}

/// In its wait it looks at no queue of the pool. What is left in one does not keep the pool.
#[test]
fn the_only_worker_runs_jobs_of_other_threads() {
    let pool = pool_with_guests(1);
    in_each_call(&pool, || {
        let jobs_run = AtomicUsize::new(0);
        pool_std::scope(|scope| {
            thread::scope(|threads| {
                let spawn = || {
                    (0..10).for_each(|_| scope.spawn(|_| _ = jobs_run.fetch_add(1, SeqCst)));
                    let many = (0..10).map(|_| |_: &_| _ = jobs_run.fetch_add(1, SeqCst));
                    scope.spawn_many(many);
                };
                threads.spawn(spawn);
            });
        });
        assert_eq!(jobs_run.into_inner(), 20);
    });
    pool.wait_idle().unwrap();
    pool.shutdown().unwrap();
}

/// The other worker is in a job of the scope that waits for the job.
#[test]
fn a_worker_that_sleeps_is_woken_for_a_job_of_another_thread() {
    in_each_call(&pool_with_guests(2), || {
        let [is_stolen, has_run] = [(); 2].map(|()| AtomicBool::new(false));
        pool_std::scope(|scope| {
            scope.spawn(|scope| {
                is_stolen.store(true, SeqCst);
                thread::sleep(CHANCE);
                thread::scope(|threads| {
                    threads.spawn(|| scope.spawn(|_| has_run.store(true, SeqCst)));
                });
                wait_for(&has_run);
            });
            wait_for(&is_stolen);
        });
    });
}

/// The order of a scope in which jobs start in order holds for those of one other thread, too.
#[test]
fn jobs_of_another_thread_start_in_order() {
    in_each_call(&pool_with_guests(1), || {
        let order = Mutex::new(Vec::new());
        pool_std::scope_fifo(|scope| {
            thread::scope(|threads| {
                let spawn = || {
                    (0..10).for_each(|number| {
                        scope.spawn_fifo({
                            let order = &order;
                            move |_| order.lock().unwrap().push(number)
                        });
                    });
                };
                threads.spawn(spawn);
            });
        });
        assert!(order.into_inner().unwrap().into_iter().eq(0..10));
    });
}

/// The wait for a stolen half holds a lock that a job of the scope around it needs.
#[test]
fn a_wait_leaves_jobs_of_an_outer_scope_alone_that_other_threads_spawn() {
    let pool = pool_with_guests(2);
    in_each_call(&pool, || {
        let lock = Mutex::new(());
        let [is_stolen, is_spawned] = [(); 2].map(|()| AtomicBool::new(false));
        let is_held = AtomicBool::new(false);
        let began_below = AtomicBool::new(false);
        let owner = thread::current().id();
        pool_std::scope(|scope| {
            let held = lock.lock().unwrap();
            is_held.store(true, SeqCst);
            join(
                || {
                    wait_for(&is_stolen);
                    thread::scope(|threads| {
                        threads.spawn(|| {
                            scope.spawn(|_| {
                                let is_here = thread::current().id() == owner;
                                began_below.fetch_or(is_here && is_held.load(SeqCst), SeqCst);
                            });
                        });
                    });
                    is_spawned.store(true, SeqCst);
                },
                || {
                    is_stolen.store(true, SeqCst);
                    wait_for(&is_spawned);
                    thread::sleep(CHANCE);
                },
            );
            is_held.store(false, SeqCst);
            drop(held);
        });
        assert!(!began_below.into_inner());
    });
}

/// A job of a broadcast that an isolated wait runs opens a scope of its own.
#[test]
fn a_job_for_a_waiting_worker_alone_waits_for_jobs_of_its_own_scope() {
    let pool = pool_with_guests(3);
    let (sender, results) = mpsc::channel();
    let results = Mutex::new(results);
    pool.install(|| {
        let own = pool_std::current_thread_index().unwrap();
        let is_stolen = AtomicBool::new(false);
        isolate(|| {
            join(
                || wait_for(&is_stolen),
                || {
                    is_stolen.store(true, SeqCst);
                    pool_std::spawn_broadcast(move |context| {
                        if context.index() == own {
                            sender.send(wait_for_a_job_of_the_scope()).unwrap();
                        }
                    });
                    let result = results.lock().unwrap().recv_timeout(LIMIT * 2);
                    assert_eq!(result, Ok(Ok(())));
                },
            )
        });
    });
}

/// A thread that has borrowed a worker in an isolated call runs a job that opens a scope.
#[test]
fn a_borrower_waits_for_jobs_of_its_own_scope() {
    let pool = ThreadPoolBuilder::new()
        .num_threads(3)
        .max_blocking_threads(1)
        .build()
        .unwrap();
    let (busy, is_busy) = mpsc::channel();
    let has_begun = Arc::new(AtomicBool::new(false));
    for _ in 0..2 {
        let (busy, has_begun) = (busy.clone(), has_begun.clone());
        pool.spawn(move || {
            busy.send(()).unwrap();
            wait_for(&has_begun);
        });
    }
    is_busy.iter().take(2).for_each(drop);
    // The spare may not have arrived yet.
    while !pool.install(|| pool_std::block_in_place(|| pool_std::current_thread_index().is_none()))
    {
    }
    let (sender, results) = mpsc::channel();
    let results = Mutex::new(results);
    let result = pool.install(|| {
        isolate(|| {
            pool_std::block_in_place(|| {
                let has_begun = has_begun.clone();
                pool.spawn(move || {
                    has_begun.store(true, SeqCst);
                    sender.send(wait_for_a_job_of_the_scope()).unwrap();
                });
                results.lock().unwrap().recv_timeout(LIMIT * 2)
            })
        })
    });
    assert_eq!(result, Ok(Ok(())));
}

/// Waits in the body of a scope for one of the scope's jobs, which any free worker may run.
fn wait_for_a_job_of_the_scope() -> Result<(), mpsc::RecvTimeoutError> {
    let (sender, receiver) = mpsc::channel();
    pool_std::scope(move |scope| {
        scope.spawn(move |_| sender.send(()).unwrap());
        receiver.recv_timeout(LIMIT)
    })
}

/// Spawns a job in a scope on another thread.
fn spawn_elsewhere<'scope>(scope: &pool_std::Scope<'scope>, job: impl FnOnce() + Send + 'scope) {
    thread::scope(|threads| _ = threads.spawn(|| scope.spawn(|_| job())));
}

/// The wait for a handle of a detached job, in a job of the scope, is not one for the scope.
#[test]
fn a_wait_in_a_job_leaves_the_other_jobs_of_its_scope_alone() {
    in_each_call(&pool_with_guests(1), || {
        let [is_held, began_below] = [(); 2].map(|()| AtomicBool::new(false));
        pool_std::scope(|scope| {
            spawn_elsewhere(scope, || {
                is_held.store(true, SeqCst);
                pool_std::spawn_handle(|| ()).join().unwrap();
                is_held.store(false, SeqCst);
            });
            spawn_elsewhere(scope, || {
                _ = began_below.fetch_or(is_held.load(SeqCst), SeqCst)
            });
        });
        assert!(!began_below.into_inner());
    });
}

/// Neither is a broadcast in the body, nor a wait for what is not a job.
#[test]
fn other_waits_in_the_body_leave_the_jobs_of_the_scope_alone() {
    let other = pool_with_guests(1);
    in_each_call(&pool_with_guests(1), || {
        let [is_held, began_below] = [(); 2].map(|()| AtomicBool::new(false));
        pool_std::scope(|scope| {
            is_held.store(true, SeqCst);
            spawn_elsewhere(scope, || {
                _ = began_below.fetch_or(is_held.load(SeqCst), SeqCst)
            });
            pool_std::broadcast(|_| ());
            other.install(|| thread::sleep(Duration::from_millis(5)));
            pool_std::driver::wait(|signal| other.spawn(|| signal.set()));
            is_held.store(false, SeqCst);
        });
        assert!(!began_below.into_inner());
    });
}

/// No worker takes the stand-ins meanwhile, and the pool ends although some are left.
#[test]
fn what_is_left_of_many_jobs_does_not_keep_an_adopted_pool() {
    let run = || {
        let pool = ThreadPoolBuilder::new()
            .num_threads(1)
            .use_current_thread()
            .isolation(Isolation::Subtree)
            .build()
            .unwrap();
        let jobs_run = AtomicUsize::new(0);
        pool_std::scope(|scope| {
            for _ in 0..100 {
                spawn_elsewhere(scope, || _ = jobs_run.fetch_add(1, SeqCst));
            }
        });
        assert_eq!(jobs_run.into_inner(), 100);
        assert_eq!(pool.shutdown_timeout(LIMIT), Ok(()));
    };
    thread::spawn(run).join().unwrap();
}

/// A scope that ends without a wait leaves no call behind, which would say that there is work.
#[test]
fn a_deadlock_after_a_scope_that_others_have_ended_is_reported() {
    let (end, ended) = mpsc::channel();
    let ended = Mutex::new(ended);
    let (pool, reports) = reporting_pool();
    let own = pool.install(|| {
        isolate(|| {
            let has_run = AtomicBool::new(false);
            pool_std::scope(|scope| {
                spawn_elsewhere(scope, || has_run.store(true, SeqCst));
                wait_for(&has_run);
                // The other worker counts the job as done.
                thread::sleep(CHANCE);
            });
        });
        pool_std::current_thread_index().unwrap()
    });
    pool.spawn_broadcast(move |context| {
        if context.index() != own {
            let blocked = pool_std::mark_blocked("the end of the test").unwrap();
            ended.lock().unwrap().recv().unwrap();
            blocked.mark_unblocked().unwrap();
        }
    });
    reports.recv_timeout(LIMIT).expect("it is reported");
    end.send(()).unwrap();
}

#[test]
fn other_workers_take_jobs_of_several_scopes_in_turn() {
    let pool = pool_with_guests(4);
    let jobs_run = AtomicUsize::new(0);
    thread::scope(|callers| {
        for _ in 0..3 {
            callers.spawn(|| {
                pool.call(|| {
                    pool_std::scope(|scope| {
                        thread::scope(|threads| {
                            threads.spawn(|| {
                                for _ in 0..if cfg!(miri) { 5 } else { 200 } {
                                    scope.spawn(|_| _ = jobs_run.fetch_add(1, SeqCst));
                                }
                            });
                        });
                    });
                });
            });
        }
    });
    assert_eq!(jobs_run.into_inner(), if cfg!(miri) { 15 } else { 600 });
}

#[test]
fn jobs_of_scopes_from_outside_are_jobs_from_outside() {
    let pool = pool_with_guests(1);
    pool.install(|| {
        isolate(|| {
            pool_std::scope(|scope| {
                thread::scope(|threads| {
                    threads.spawn(|| (0..5).for_each(|_| scope.spawn(|_| ())));
                });
                assert_eq!(pool_std::current_state().jobs_from_outside(), 5);
                let metrics = pool_std::current_metrics();
                assert_eq!(metrics.injector_len(), Some(5));
                assert!(!metrics.injector_is_empty());
            })
        })
    });
}
