//! What a worker runs while it waits, and what it leaves alone.

use std::{
    cell::Cell,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

mod bodies;
mod handles;
#[cfg(not(miri))]
mod hangs;
mod inherited;
mod leftovers;
mod lent_scopes;
mod loans;
mod nesting;
mod outside;
// They see which workers sleep.
#[cfg(feature = "metrics")]
mod wakes;
mod yields;

use pool_std::{
    Isolation, SleepKind, ThreadPool, ThreadPoolBuilder, Yield, isolate, join, with_isolation,
};

/// How long a thief gives a foreign job to begin on the worker that waits.
const CHANCE: Duration = Duration::from_millis(100);
/// How long a program that should end may take.
const LIMIT: Duration = Duration::from_secs(120);

fn pool(workers: usize) -> ThreadPool {
    ThreadPoolBuilder::new()
        .num_threads(workers)
        .build()
        .unwrap()
}

/// Only a pool with this protocol has guests, whose calls are isolated.
fn builder_with_guests(workers: usize) -> ThreadPoolBuilder {
    let builder = ThreadPoolBuilder::new().num_threads(workers);
    builder.sleep(SleepKind::Jec)
}

fn pool_with_guests(workers: usize) -> ThreadPool {
    builder_with_guests(workers).build().unwrap()
}

/// Runs a program that should end, on a thread of its own.
fn assert_ends(what: &str, program: impl FnOnce() + Send + 'static) {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        program();
        sender.send(()).unwrap();
    });
    assert_eq!(receiver.recv_timeout(LIMIT), Ok(()), "{what}");
}

fn wait_for(event: &AtomicBool) {
    while !event.load(SeqCst) {
        thread::yield_now();
    }
}

/// Runs a closure on a worker that then waits for the other one, while a job from outside needs the
/// lock that the closure holds. The wait lasts until the job has begun, or for this long. Returns
/// whether the job began during the wait.
fn hold_a_lock(
    pool: &ThreadPool,
    chance: Duration,
    call: impl Fn(&(dyn Fn() + Sync)) + Sync,
) -> bool {
    let lock = Mutex::new(());
    let [other_has_begun, job_has_begun, is_waiting] = [(); 3].map(|()| AtomicBool::new(false));
    let mut began_during_wait = false;
    thread::scope(|threads| {
        threads.spawn(|| {
            wait_for(&is_waiting);
            pool.install(|| {
                job_has_begun.store(true, SeqCst);
                drop(lock.lock().unwrap());
            });
        });
        let seen = AtomicBool::new(false);
        call(&|| {
            let _held = lock.lock().unwrap();
            join(
                || wait_for(&other_has_begun),
                || {
                    other_has_begun.store(true, SeqCst);
                    is_waiting.store(true, SeqCst);
                    let begin = Instant::now();
                    while !job_has_begun.load(SeqCst) && begin.elapsed() < chance {
                        thread::yield_now();
                    }
                    seen.store(job_has_begun.load(SeqCst), SeqCst);
                },
            );
        });
        began_during_wait = seen.into_inner();
    });
    began_during_wait
}

#[test]
fn a_lock_may_be_held_across_an_isolated_join() {
    let pool = pool(2);
    let began = hold_a_lock(&pool, CHANCE, |body| pool.install(|| isolate(body)));
    assert!(!began, "a foreign job ran in the wait");
}

#[test]
fn a_lock_may_be_held_across_a_join_in_a_pool_that_isolates() {
    for isolation in [Isolation::Subtree, Isolation::Nothing] {
        let builder = ThreadPoolBuilder::new().num_threads(2).isolation(isolation);
        let pool = builder.build().unwrap();
        assert!(!hold_a_lock(&pool, CHANCE, |body| pool.install(body)));
    }
}

#[test]
fn a_caller_from_outside_may_hold_a_lock_across_a_join() {
    // Pools with other protocols have no guests, and install such a call.
    let builder = ThreadPoolBuilder::new().num_threads(2);
    let pool = builder.sleep(SleepKind::Jec).build().unwrap();
    assert!(!hold_a_lock(&pool, CHANCE, |body| pool.call(body)));
}

/// All jobs need one lock, and hold it across a call that uses all workers.
#[test]
fn many_jobs_may_hold_a_lock_across_isolated_joins() {
    const RUNS: usize = if cfg!(miri) { 3 } else { 10_000 };
    for workers in [2, 4] {
        let pool = pool(workers);
        let count = Mutex::new(0);
        for _ in 0..RUNS / 8 {
            pool.scope(|scope| {
                for _ in 0..8 {
                    scope.spawn(|_| {
                        let mut count = count.lock().unwrap();
                        isolate(|| join(thread::yield_now, thread::yield_now));
                        *count += 1;
                    });
                }
            });
        }
        assert_eq!(count.into_inner().unwrap(), RUNS / 8 * 8);
    }
}

/// The worker that waits is the only one, and takes nothing from the injector.
#[test]
fn jobs_that_a_thread_outside_spawns_in_an_isolated_scope_are_run() {
    let (pool, count) = (pool(1), AtomicUsize::new(0));
    let add = || _ = count.fetch_add(1, SeqCst);
    pool.install(|| {
        isolate(|| {
            pool_std::scope(|scope| {
                thread::scope(|threads| {
                    threads.spawn(|| {
                        scope.spawn(move |_| add());
                        scope.spawn_many((0..100).map(|_| move |_: &_| add()));
                    });
                });
            });
            pool_std::scope_fifo(|scope| {
                thread::scope(|threads| {
                    threads.spawn(|| scope.spawn_fifo(move |_| add()));
                });
            });
        });
    });
    assert_eq!(count.into_inner(), 102);
}

/// The job of the thread outside is for the worker that waits. So are the jobs that it spawns in
/// turn, which nothing but their scope tells from those of a broadcast.
#[test]
fn jobs_that_such_a_job_spawns_in_the_scope_are_run() {
    let (pool, count) = (pool(1), AtomicUsize::new(0));
    let count = &count;
    pool.install(|| {
        isolate(|| {
            pool_std::scope(|scope| {
                thread::scope(|threads| {
                    threads.spawn(|| {
                        scope.spawn(move |scope| {
                            for _ in 0..3 {
                                scope.spawn(move |scope| {
                                    scope.spawn(move |_| _ = count.fetch_add(1, SeqCst));
                                });
                            }
                        });
                    });
                });
            });
        });
    });
    assert_eq!(count.load(SeqCst), 3);
}

/// While a worker waits for another pool, it runs no job of its own.
#[test]
fn an_install_without_help_runs_no_job_of_the_callers_pool() {
    let (own, other) = (pool(1), pool(1));
    let [is_installed, has_run] = [(); 2].map(|()| AtomicBool::new(false));
    thread::scope(|threads| {
        threads.spawn(|| {
            wait_for(&is_installed);
            own.install(|| has_run.store(true, SeqCst));
        });
        own.install(|| {
            with_isolation(Isolation::Nothing, || {
                other.install(|| {
                    is_installed.store(true, SeqCst);
                    thread::sleep(CHANCE);
                    assert!(!has_run.load(SeqCst));
                });
            });
        });
    });
    assert!(has_run.into_inner());
}

/// Jobs that no scope waits for are not run by waits of the job that has spawned them.
#[test]
fn a_detached_job_is_left_to_a_worker_between_jobs() {
    let pool = pool(1);
    let (sender, receiver) = mpsc::channel();
    let receiver = Mutex::new(receiver);
    pool.install(|| {
        isolate(|| {
            for spawn in [pool_std::spawn::<_>, pool_std::spawn_fifo::<_>] {
                let sender = sender.clone();
                spawn(Box::new(move || sender.send(()).unwrap()) as Box<dyn FnOnce() + Send>);
            }
            let sender = &sender;
            pool_std::spawn_many((0..2).map(|_| {
                let sender = sender.clone();
                move || sender.send(()).unwrap()
            }));
            let has_run = AtomicBool::new(false);
            pool_std::scope(|scope| scope.spawn(|_| has_run.store(true, SeqCst)));
            assert!(has_run.into_inner());
            assert!(receiver.lock().unwrap().try_recv().is_err());
        });
    });
    drop(sender);
    assert_eq!(receiver.into_inner().unwrap().iter().count(), 4);
}

/// A worker that joins a handle runs what its own job has pushed, wherever the deque ended when
/// other jobs began.
#[test]
fn a_worker_in_isolation_joins_what_its_job_has_spawned() {
    let run = || {
        let builder = ThreadPoolBuilder::new().num_threads(1).use_current_thread();
        let pool = Arc::new(builder.max_nesting(1).build().unwrap());
        let [first, second] = [pool.clone(), pool.clone()];
        let jobs = [
            pool.spawn_handle(move || {
                first.spawn_handle(|| ()).join().unwrap();
                first.scope(|scope| {
                    let jobs = [(); 2].map(|()| pool_std::spawn_handle_in(scope, |_| ()));
                    jobs.into_iter().for_each(|job| job.join().unwrap());
                });
            }),
            pool.spawn_handle(move || _ = second.yield_now()),
            pool.spawn_handle(|| ()),
            pool.spawn_handle(|| {
                // Runs the second closure, below where the first one began.
                join(
                    || with_isolation(Isolation::Anything, || _ = pool_std::yield_now()),
                    || (),
                );
            }),
        ];
        jobs.into_iter().for_each(|job| job.join().unwrap());
    };
    thread::spawn(run).join().unwrap();
}

/// Returns a pool of two workers, and what receives its reports of deadlocks.
fn reporting_pool() -> (ThreadPool, mpsc::Receiver<()>) {
    let (report, reports) = mpsc::channel();
    let pool = ThreadPoolBuilder::new()
        .num_threads(2)
        .guests(false)
        .deadlock_handler(move |_| report.send(()).unwrap())
        .build()
        .unwrap();
    (pool, reports)
}

/// The second worker waits for a job that the first one, which sleeps in isolation, may not run.
#[test]
fn a_deadlock_beside_a_wait_in_isolation_is_reported() {
    let (end, ended) = mpsc::channel();
    let ended = Mutex::new(ended);
    let (pool, reports) = reporting_pool();
    let is_stolen = AtomicBool::new(false);
    thread::scope(|threads| {
        threads.spawn(|| {
            pool.install(|| {
                isolate(|| {
                    let thief = || {
                        is_stolen.store(true, SeqCst);
                        let end = end.clone();
                        pool_std::spawn(move || _ = end.send(()));
                        let blocked = pool_std::mark_blocked("the detached job").unwrap();
                        ended.lock().unwrap().recv().unwrap();
                        // The test has ended the wait, and the job is still there.
                        blocked.mark_unblocked().unwrap();
                    };
                    join(|| wait_for(&is_stolen), thief)
                })
            });
        });
        let report = reports.recv_timeout(Duration::from_secs(60));
        end.send(()).unwrap();
        assert!(report.is_ok(), "no report");
    });
}

/// A wait in isolation runs the part of a broadcast that is its worker's. It leaves alone what that
/// part spawns in a scope which began before the wait, also if a newer job than the one that it
/// waits for is there when the wait begins.
#[test]
fn a_job_of_an_outer_scope_is_left_alone_by_a_wait_that_finds_newer_jobs() {
    thread_local! {
        static IN_WAIT: Cell<bool> = const { Cell::new(false) };
    }

    let pool = ThreadPoolBuilder::new()
        .num_threads(2)
        .guests(false)
        .build()
        .unwrap();
    for _ in 0..5 {
        let [is_stolen, has_run, in_wait] = [(); 3].map(|()| AtomicBool::new(false));
        pool.install(|| {
            pool_std::scope(|scope| {
                isolate(|| {
                    IN_WAIT.set(true);
                    let first = || {
                        wait_for(&is_stolen);
                        scope.spawn_broadcast(|scope, _| {
                            if IN_WAIT.get() {
                                scope.spawn(|_| {
                                    in_wait.store(IN_WAIT.get(), SeqCst);
                                    has_run.store(true, SeqCst);
                                });
                            }
                        });
                        scope.spawn(|_| ());
                    };
                    let thief = || {
                        is_stolen.store(true, SeqCst);
                        let start = Instant::now();
                        while !has_run.load(SeqCst) && start.elapsed() < CHANCE {
                            thread::yield_now();
                        }
                    };
                    join(first, thief);
                    IN_WAIT.set(false);
                });
            });
        });
        // It is not spawned if the thief was faster than the broadcast.
        assert!(!in_wait.load(SeqCst), "it ran inside the wait");
    }
}

/// The promise is that of the call, whatever the pool can do.
#[test]
fn a_call_is_isolated_in_a_pool_without_guests() {
    let pool = ThreadPoolBuilder::new()
        .num_threads(2)
        .guests(false)
        .build()
        .unwrap();
    assert!(!hold_a_lock(&pool, CHANCE, |closure| pool.call(closure)));
}

/// Reproduces a bug: with guests, which pools have by default, a call on a worker of the pool was
/// not isolated.
#[test]
fn a_call_on_a_worker_of_the_pool_is_isolated() {
    for has_guests in [true, false] {
        let builder = ThreadPoolBuilder::new().num_threads(2);
        let pool = builder.guests(has_guests).build().unwrap();
        let began = hold_a_lock(&pool, CHANCE, |body| pool.install(|| pool.call(body)));
        assert!(!began, "guests: {has_guests}");
    }
}
