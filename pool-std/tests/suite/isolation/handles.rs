//! Handles of jobs of a scope, joined where no worker may look for jobs of that scope.

use pool_std::{Scope, ScopedJoinHandle, spawn_handle_in};

use super::*;

/// Runs a program in a pool of one worker, in calls of all kinds.
fn in_each_call(program: fn()) {
    type Call = fn(&ThreadPool, fn());

    let calls: [Call; 4] = [
        |pool, program| pool.call(program),
        |pool, program| pool.install(program),
        |pool, program| pool.install(|| isolate(program)),
        |pool, program| pool.install(|| with_isolation(Isolation::Nothing, program)),
    ];
    for (number, call) in calls.into_iter().enumerate() {
        assert_ends(&format!("call {number}"), move || {
            let pool = builder_with_guests(1)
                .max_blocking_threads(1)
                .build()
                .unwrap();
            call(&pool, program);
        });
    }
}

/// Spawns a job on a thread that is not a worker.
fn spawn_elsewhere<'scope>(scope: &Scope<'scope>) -> ScopedJoinHandle<'scope, u32> {
    thread::scope(|threads| {
        let spawned = threads.spawn(|| spawn_handle_in(scope, |_| 7));
        spawned.join().unwrap()
    })
}

#[test]
fn a_nested_job_joins_a_job_of_the_outer_scope() {
    in_each_call(|| {
        pool_std::scope(|outer| {
            let job = spawn_handle_in(outer, |_| 7);
            pool_std::scope(|inner| inner.spawn(|_| assert_eq!(job.join().unwrap(), 7)));
        });
    });
}

#[test]
fn two_calls_join_jobs_of_their_outer_scopes() {
    for _ in 0..if cfg!(miri) { 1 } else { 20 } {
        assert_ends("two guests", || {
            let pool = Arc::new(pool_with_guests(2));
            let barrier = Arc::new(std::sync::Barrier::new(2));
            let callers = [(); 2].map(|()| {
                let (pool, barrier) = (pool.clone(), barrier.clone());
                thread::spawn(move || {
                    pool.call(|| {
                        pool_std::scope(|outer| {
                            barrier.wait();
                            let job = spawn_handle_in(outer, |_| 7);
                            pool_std::scope(|inner| {
                                inner.spawn(|_| {
                                    barrier.wait();
                                    assert_eq!(job.join().unwrap(), 7);
                                });
                            });
                        });
                    });
                })
            });
            for caller in callers {
                caller.join().unwrap();
            }
        });
    }
}

#[test]
fn an_isolated_call_in_the_body_joins_a_job_of_the_scope() {
    in_each_call(|| {
        pool_std::scope(|scope| {
            let job = spawn_handle_in(scope, |_| 7);
            assert_eq!(isolate(|| job.join().unwrap()), 7);
            let job = spawn_elsewhere(scope);
            assert_eq!(isolate(|| job.join().unwrap()), 7);
            let job = spawn_handle_in(scope, |_| 7);
            assert_eq!(isolate(|| pool_std::block_on(job).unwrap()), 7);
            let mut job = spawn_elsewhere(scope);
            assert!(isolate(|| job.wait_timeout(LIMIT)));
        });
    });
}

#[test]
fn jobs_that_come_another_way_join_what_they_have_spawned() {
    in_each_call(|| {
        pool_std::scope(|scope| {
            scope.spawn_broadcast(|scope, _| {
                assert_eq!(spawn_handle_in(scope, |_| 7).join().unwrap(), 7)
            });
        });
        let spawn = |scope: &Scope<'_>| {
            thread::scope(|threads| {
                threads.spawn(|| scope.spawn(|scope| _ = spawn_handle_in(scope, |_| 7).join()));
            });
        };
        pool_std::scope(|scope| {
            spawn(scope);
            pool_std::yield_now();
        });
        pool_std::scope(|scope| {
            spawn(scope);
            pool_std::block_in_place(|| thread::sleep(Duration::from_millis(1)));
        });
        pool_std::scope(|scope| {
            scope.spawn(|scope| assert_eq!(spawn_elsewhere(scope).join().unwrap(), 7));
        });
    });
}

/// The worker that has the handle runs the job, while the scope has nothing else to wait for.
#[test]
fn a_scope_waits_for_a_job_that_another_scope_runs() {
    assert_ends("two scopes", || {
        let pool = pool_with_guests(2);
        for _ in 0..if cfg!(miri) { 3 } else { 300 } {
            let is_over = AtomicBool::new(false);
            // After what the handle in it may borrow.
            let (sender, receiver) = mpsc::channel();
            pool.scope(|outer| {
                outer.spawn(|_| {
                    pool_std::scope(|inner| {
                        let is_over = &is_over;
                        let job = spawn_handle_in(inner, move |_| {
                            thread::yield_now();
                            is_over.store(true, SeqCst);
                        });
                        sender.send(job).unwrap();
                    });
                    assert!(is_over.load(SeqCst), "the inner scope has waited");
                });
                outer.spawn(move |_| receiver.recv().unwrap().join().unwrap());
            });
        }
    });
}

#[test]
fn panics_and_aborts() {
    in_each_call(|| {
        pool_std::scope(|scope| {
            let job = spawn_handle_in(scope, |_| panic!("the job"));
            let error = isolate(|| job.join()).map(|()| 0).unwrap_err();
            assert!(error.is_panic(), "{error}");
            let job = spawn_handle_in(scope, |_| unreachable!("it is aborted"));
            assert!(job.abort());
            assert!(!job.abort());
            let error = isolate(|| job.join()).map(|()| 0).unwrap_err();
            assert!(error.is_aborted(), "{error}");
        });
    });
}

/// What another thread spawns in a scope of the frame below is nothing that the job waits for.
#[test]
fn a_job_that_its_owner_runs_leaves_jobs_of_the_frame_below_alone() {
    let pool = pool_with_guests(1);
    let [held, ran_meanwhile] = [(); 2].map(|()| AtomicBool::new(false));
    let (begun, begins) = mpsc::channel::<()>();
    let (spawned, is_spawned) = mpsc::channel::<()>();
    let (begins, is_spawned) = (Mutex::new(begins), Mutex::new(is_spawned));
    pool.install(|| {
        isolate(|| {
            pool_std::scope(|outer| {
                let (held, ran, begins, is_spawned) = (&held, &ran_meanwhile, &begins, &is_spawned);
                let x = thread::scope(|threads| {
                    threads
                        .spawn(|| {
                            spawn_handle_in(outer, move |_| {
                                held.store(true, SeqCst);
                                begun.send(()).unwrap();
                                is_spawned.lock().unwrap().recv().unwrap();
                                pool_std::spawn_handle(|| ()).join().unwrap();
                                held.store(false, SeqCst);
                            })
                        })
                        .join()
                        .unwrap()
                });
                outer.spawn(move |_| {
                    pool_std::scope(|a| {
                        thread::scope(|threads| {
                            threads.spawn(|| {
                                begins.lock().unwrap().recv().unwrap();
                                a.spawn(|_| _ = ran.fetch_or(held.load(SeqCst), SeqCst));
                                spawned.send(()).unwrap();
                            });
                            x.join().unwrap();
                        });
                    });
                });
            });
        })
    });
    assert!(!ran_meanwhile.into_inner());
}
