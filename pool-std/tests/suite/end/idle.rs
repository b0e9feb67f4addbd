//! Waiting until a pool has nothing to do.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
        mpsc,
    },
    thread,
    time::Duration,
};

use pool_std::{
    IdlePolicy, Isolation, ShutdownError, SleepKind, ThreadPool, ThreadPoolBuilder, WaitIdleError,
    block_in_place, join, progress::Progress, spawn, spawn_handle,
};

use super::{Held, LIMIT, LOOKS, chain, expect_wait, held, pool, pool_with_this_thread};

#[test]
fn wait_idle_returns_at_once_from_a_pool_without_jobs() {
    let pool = pool(2);
    pool.wait_idle().unwrap();
    assert_eq!(pool.install(|| 1), 1);
    pool.wait_idle().unwrap();
}

#[test]
fn wait_idle_waits_for_jobs_that_jobs_spawn() {
    let (rounds, length) = if cfg!(miri) { (3, 10) } else { (300, 50) };
    for &kind in SleepKind::ALL {
        for threads in [1, 3] {
            let builder = ThreadPoolBuilder::new().num_threads(threads).sleep(kind);
            let pool = builder.idle_policy(IdlePolicy::IMMEDIATE).build().unwrap();
            for _ in 0..rounds {
                let links = Arc::new(AtomicUsize::new(0));
                for _ in 0..2 {
                    let links = links.clone();
                    pool.spawn(move || chain(length, links));
                }
                pool.wait_idle().unwrap();
                assert_eq!(links.load(Relaxed), 2 * length, "{kind} with {threads}");
                assert_eq!(Arc::strong_count(&links), 1, "no closure is left");
            }
        }
    }
}

#[test]
fn wait_idle_waits_for_each_kind_of_spawned_job() {
    let pool = pool(2);
    let count = Arc::new(AtomicUsize::new(0));
    for _ in 0..if cfg!(miri) { 3 } else { 200 } {
        count.store(0, Relaxed);
        let job = || {
            let count = count.clone();
            move || _ = count.fetch_add(1, Relaxed)
        };
        pool.spawn(job());
        pool.spawn_fifo(job());
        pool.spawn_many((0..100).map(|_| job()));
        let each = job();
        pool.spawn_broadcast(move |_| each());
        pool.wait_idle().unwrap();
        assert_eq!(count.load(Relaxed), 104);
    }
}

/// No other thread could run the jobs: a wait for them is isolated from nothing.
#[test]
fn wait_idle_runs_the_jobs_of_an_isolated_pool_on_its_only_thread() {
    for isolation in [Isolation::Subtree, Isolation::Nothing] {
        thread::spawn(move || {
            let builder = ThreadPoolBuilder::new().num_threads(1).use_current_thread();
            let pool = builder.isolation(isolation).build().unwrap();
            let links = Arc::new(AtomicUsize::new(0));
            let [own, in_isolation] = [links.clone(), links.clone()];
            pool.spawn(move || chain(5, own));
            pool.wait_idle().unwrap();
            pool_std::isolate(|| {
                pool.spawn(move || chain(5, in_isolation));
                pool.wait_idle().unwrap();
            });
            assert_eq!(links.load(Relaxed), 10);
            let [own, in_isolation] = [links.clone(), links.clone()];
            pool.spawn(move || chain(5, own));
            pool.wait_idle_timeout(LIMIT).unwrap();
            pool_std::isolate(|| {
                pool.spawn(move || chain(5, in_isolation));
                pool.wait_idle_timeout(LIMIT).unwrap();
            });
            assert_eq!(links.load(Relaxed), 20);
        })
        .join()
        .unwrap();
    }
}

#[test]
fn wait_idle_waits_for_calls_from_outside() {
    type Call = fn(&ThreadPool, Box<dyn FnOnce() + Send>);
    let pool = &pool(2);
    let calls: [Call; 5] = [
        |pool, job| pool.install(job),
        |pool, job| pool.call(job),
        |pool, job| _ = pool.join(job, || ()),
        |pool, job| pool.scope(|scope| scope.spawn(|_| job())),
        |pool, job| pool.in_place_scope(|scope| scope.spawn(|_| job())),
    ];
    for call in calls {
        let (job, held) = held();
        thread::scope(|threads| {
            threads.spawn(move || call(pool, Box::new(job)));
            expect_wait(pool, &held);
        });
    }
}

#[test]
fn wait_idle_waits_for_each_part_of_a_broadcast() {
    let pool = &pool(2);
    for index in 0..2 {
        let (begin, has_begun) = mpsc::channel();
        let (go_on, may_end) = mpsc::channel();
        let may_end = std::sync::Mutex::new(may_end);
        thread::scope(|threads| {
            threads.spawn(move || {
                pool.broadcast(|context| {
                    if context.index() == index {
                        begin.send(()).unwrap();
                        may_end.lock().unwrap().recv().unwrap();
                    }
                })
            });
            expect_wait(pool, &Held { has_begun, go_on });
        });
    }
    pool.wait_idle().unwrap();
}

#[test]
fn wait_idle_waits_for_a_closure_that_blocks_in_place() {
    let builder = ThreadPoolBuilder::new()
        .num_threads(1)
        .max_blocking_threads(1);
    let pool = builder.build().unwrap();
    let (job, held) = held();
    pool.spawn(|| block_in_place(job));
    held.wait();
    // The spare runs jobs meanwhile.
    pool.install(|| ());
    let (job, other) = self::held();
    pool.spawn(job);
    other.wait();
    other.release();
    held.go_on.send(()).unwrap();
    pool.wait_idle().unwrap();

    let (job, held) = self::held();
    pool.spawn(|| block_in_place(job));
    expect_wait(&pool, &held);
}

#[test]
fn wait_idle_waits_for_a_job_that_panics() {
    let builder = ThreadPoolBuilder::new().panic_handler(|_| ());
    let pool = builder.num_threads(1).build().unwrap();
    let (job, held) = held();
    pool.spawn(move || {
        job();
        panic!("by design");
    });
    expect_wait(&pool, &held);
    assert!(catch_unwind(AssertUnwindSafe(|| pool.install(|| panic!("by design")))).is_err());
    pool.wait_idle().unwrap();
}

/// A worker keeps the references of jobs that have ended for those that it spawns next, but not
/// where it may do anything else for any time.
#[test]
fn a_pool_is_idle_while_a_thread_that_it_has_adopted_goes_on() {
    let pool = pool_with_this_thread(2);
    for _ in 0..if cfg!(miri) { 3 } else { 100 } {
        // The first ones are run in the wait for the last one.
        let handles: Vec<_> = (0..5).map(|_| spawn_handle(|| spawn(|| ()))).collect();
        for handle in handles {
            handle.join().unwrap();
        }
        // Otherwise they would wait for each other.
        thread::scope(|threads| _ = threads.spawn(|| pool.wait_idle().unwrap()));
    }
    pool.shutdown().unwrap();
}

/// A deferred closure is no job, and holds no reference. The worker may sleep after it.
#[test]
fn a_pool_is_idle_after_a_deferred_closure_that_waits_for_a_job() {
    let pool = pool(1);
    let (sender, receiver) = mpsc::channel();
    let deferred = move || {
        spawn_handle(|| ()).join().unwrap();
        sender.send(()).unwrap();
    };
    pool.install(|| Progress::current().defer(deferred));
    receiver.recv_timeout(LIMIT).unwrap();
    pool.wait_idle().unwrap();
    pool.shutdown().unwrap();
}

/// So may a closure that goes on for any time.
#[test]
fn a_pool_is_idle_while_a_deferred_closure_goes_on() {
    let pool = pool(1);
    let (sender, receiver) = mpsc::channel();
    let (go_on, may_end) = mpsc::channel::<()>();
    let deferred = move || {
        spawn_handle(|| ()).join().unwrap();
        sender.send(()).unwrap();
        may_end.recv().unwrap();
    };
    pool.install(|| Progress::current().defer(deferred));
    receiver.recv_timeout(LIMIT).unwrap();
    pool.wait_idle().unwrap();
    go_on.send(()).unwrap();
    pool.shutdown().unwrap();
}

/// The references that the worker keeps are added and removed together.
#[test]
fn wait_idle_returns_after_any_number_of_jobs_on_each_worker() {
    fn tree(size: usize) {
        if let Some(rest) = size.checked_sub(1) {
            spawn(move || tree(rest / 3));
            spawn(move || tree(rest - rest / 3));
        }
    }
    let largest = if cfg!(miri) { 5 } else { 500 };
    for threads in [1, 2, 4] {
        let pool = pool(threads);
        for size in 0..largest {
            pool.spawn(move || tree(size));
            pool.wait_idle().unwrap();
        }
        pool.spawn(move || tree(largest));
        pool.shutdown().unwrap();
    }
}

#[test]
fn wait_idle_is_refused_where_the_thread_would_wait_for_itself() {
    let builder = ThreadPoolBuilder::new()
        .num_threads(2)
        .max_blocking_threads(1);
    let pool = builder.build().unwrap();
    let refused = Err(WaitIdleError::FromWorker);
    let too_late = Err(ShutdownError::FromWorker);
    assert_eq!(pool.install(|| pool.wait_idle()), refused);
    assert_eq!(pool.call(|| pool.wait_idle()), refused);
    assert_eq!(pool.install(|| join(|| (), || pool.wait_idle()).1), refused);
    assert_eq!(
        pool.install(|| block_in_place(|| pool.wait_idle())),
        refused
    );
    assert_eq!(pool.in_place_scope(|_| pool.wait_idle()), refused);
    pool.spawn_many((0..2).map(|_| {
        assert_eq!(pool.wait_idle(), refused);
        || ()
    }));
    pool.wait_idle().unwrap();
    assert_eq!(
        pool.in_place_scope(|_| pool.shutdown_timeout(LIMIT)),
        too_late
    );
    pool.shutdown_timeout(LIMIT).unwrap();
}

// The worker runs the jobs that the other pool waits for.
#[test]
fn a_worker_of_another_pool_works_while_it_waits() {
    let (here, other) = (Arc::new(pool(1)), Arc::new(pool(1)));
    let count = Arc::new(AtomicUsize::new(0));
    for _ in 0..if cfg!(miri) { 3 } else { 100 } {
        for _ in 0..5 {
            let (here, count) = (here.clone(), count.clone());
            other.spawn(move || here.install(|| _ = count.fetch_add(1, Relaxed)));
        }
        let waited = here.install(|| {
            other.wait_idle().unwrap();
            count.swap(0, Relaxed)
        });
        assert_eq!(waited, 5);
    }
    // The thread waits for a call to the pool, and in the middle of that until the pool is idle.
    let (job, held) = held();
    let (sender, receiver) = mpsc::channel();
    thread::scope(|threads| {
        threads.spawn(|| here.install(|| other.install(job)));
        held.wait();
        let other = other.clone();
        here.spawn(move || sender.send(other.wait_idle()).unwrap());
        let is_early = (0..LOOKS).any(|_| {
            thread::yield_now();
            receiver.try_recv().is_ok()
        });
        held.release();
        assert!(!is_early, "the job has not ended");
        assert_eq!(receiver.recv_timeout(LIMIT), Ok(Ok(())));
    });
}

#[test]
fn an_adopted_thread_works_while_it_waits() {
    for threads in [1, 3] {
        let on_new_thread = thread::spawn(move || {
            let pool = Arc::new(pool_with_this_thread(threads));
            let links = Arc::new(AtomicUsize::new(0));
            for _ in 0..if cfg!(miri) { 3 } else { 100 } {
                links.store(0, Relaxed);
                chain(20, links.clone());
                pool.spawn_broadcast(|_| ());
                pool.wait_idle().unwrap();
                assert_eq!(links.load(Relaxed), 20);
            }
            let own = pool.clone();
            let (sender, receiver) = mpsc::channel();
            pool.spawn(move || sender.send(own.wait_idle()).unwrap());
            pool.wait_idle().unwrap();
            let refused = Err(WaitIdleError::FromWorker);
            assert_eq!(receiver.try_recv(), Ok(refused));
            assert_eq!(pool.in_place_scope(|_| pool.wait_idle()), refused);

            chain(20, links.clone());
            pool.shutdown_timeout(LIMIT).unwrap();
            assert_eq!(links.load(Relaxed), 40);
        });
        on_new_thread.join().unwrap();
    }
}

#[test]
fn many_threads_wait_at_the_same_time() {
    let pool = &pool(2);
    let rounds = if cfg!(miri) { 2 } else { 200 };
    thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| {
                for _ in 0..rounds {
                    let links = Arc::new(AtomicUsize::new(0));
                    let own = links.clone();
                    pool.spawn(move || chain(10, own));
                    pool.wait_idle().unwrap();
                    assert_eq!(links.load(Relaxed), 10);
                }
            });
        }
    });
}

#[test]
fn waits_end_while_another_thread_shuts_the_pool_down() {
    for _ in 0..if cfg!(miri) { 3 } else { 200 } {
        let pool = &pool(2);
        let links = Arc::new(AtomicUsize::new(0));
        let own = links.clone();
        pool.spawn(move || chain(20, own));
        thread::scope(|threads| {
            for _ in 0..2 {
                threads.spawn(|| {
                    pool.wait_idle().unwrap();
                    assert_eq!(links.load(Relaxed), 20);
                });
                threads.spawn(|| {
                    pool.shutdown_timeout(LIMIT).unwrap();
                    assert_eq!(links.load(Relaxed), 20);
                });
            }
        });
        pool.wait_idle().unwrap();
    }
}

#[test]
fn a_wait_with_a_limit_ends_in_time_or_with_the_last_job() {
    let pool = pool(2);
    assert_eq!(pool.wait_idle_timeout(Duration::ZERO), Ok(()));
    let (release, event) = mpsc::channel::<()>();
    pool.spawn(move || assert!(event.recv().is_err()));
    for limit in [Duration::ZERO, Duration::from_millis(1)] {
        assert_eq!(pool.wait_idle_timeout(limit), Err(WaitIdleError::TimedOut));
    }
    assert_eq!(pool.install(|| 1), 1, "a call counts only while it lasts");
    assert_eq!(
        pool.install(|| pool.wait_idle_timeout(LIMIT)),
        Err(WaitIdleError::FromWorker)
    );
    thread::scope(|threads| {
        // Beside waits that are over, some without a limit.
        let waiting = threads.spawn(|| pool.wait_idle());
        let with_limit = threads.spawn(|| pool.wait_idle_timeout(Duration::MAX));
        thread::sleep(Duration::from_millis(5));
        drop(release);
        assert_eq!(waiting.join().unwrap(), Ok(()));
        assert_eq!(with_limit.join().unwrap(), Ok(()));
    });
    assert_eq!(pool.wait_idle_timeout(LIMIT), Ok(()));
}

/// What may come after a wait that was given up: more jobs and waits, a shutdown, or a drop.
#[test]
fn a_pool_goes_on_and_ends_after_a_wait_that_was_given_up() {
    let ends: [fn(ThreadPool); 4] = [
        |pool| pool.shutdown().unwrap(),
        |pool| pool.shutdown_timeout(LIMIT).unwrap(),
        |pool| {
            pool.wait_idle().unwrap();
            assert_eq!(pool.wait_idle_timeout(LIMIT), Ok(()));
        },
        drop,
    ];
    for end in ends {
        for rounds in 0..3 {
            let pool = pool(2);
            let count = Arc::new(AtomicUsize::new(0));
            let mut given_up = 0;
            for _ in 0..rounds {
                let (release, event) = mpsc::channel::<()>();
                let count = count.clone();
                pool.spawn(move || {
                    assert!(event.recv().is_err());
                    count.fetch_add(1, Relaxed);
                });
                given_up += usize::from(pool.wait_idle_timeout(Duration::ZERO).is_err());
                drop(release);
            }
            assert_eq!(given_up, rounds);
            end(pool);
            // A drop does not wait.
            while count.load(Relaxed) < rounds {
                thread::yield_now();
            }
        }
    }
}

/// A worker of another pool, and a thread that the pool has adopted.
#[test]
fn a_worker_works_while_it_waits_with_a_limit() {
    let [first, other] = [pool(1), pool(1)];
    let (release, event) = mpsc::channel::<()>();
    first.spawn(move || assert!(event.recv().is_err()));
    other.install(|| {
        let timed_out = Err(WaitIdleError::TimedOut);
        assert_eq!(first.wait_idle_timeout(Duration::from_millis(1)), timed_out);
        spawn(move || drop(release));
        assert_eq!(first.wait_idle_timeout(Duration::MAX), Ok(()));
    });
    thread::spawn(|| {
        let pool = pool_with_this_thread(1);
        let (sender, receiver) = mpsc::channel();
        pool.spawn(move || sender.send(1).unwrap());
        assert_eq!(pool.wait_idle_timeout(Duration::MAX), Ok(()));
        assert_eq!(receiver.try_recv(), Ok(1));
    })
    .join()
    .unwrap();
}
