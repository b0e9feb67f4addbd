//! Children that leave what only the parent can end.

use std::{
    io, process,
    sync::{
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
        mpsc,
    },
    thread,
    time::Duration,
};

use crate::support::{End, alone, end_of, fork};
use pool_std::{
    ThreadPool, ThreadPoolBuilder,
    driver::{self, Signal},
    join, scope,
};

fn pool(threads: usize) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(threads);
    builder.build().unwrap()
}

/// Expects that a child which leaves the closure, on whose end a thread waits, is ended.
fn expect_abort(run: impl FnOnce(&mut dyn FnMut())) {
    let mut child = None;
    run(&mut || child = fork());
    // The child does not come here.
    let Some(child) = child else { process::exit(1) };
    assert_eq!(end_of(child), End::Signal(libc::SIGABRT));
}

#[test]
fn a_child_that_leaves_a_section_of_blocking_is_ended() {
    alone(|| {
        let builder = ThreadPoolBuilder::new().num_threads(1);
        let pool = builder.max_blocking_threads(1).build().unwrap();
        thread::scope(|threads| {
            threads.spawn(|| {
                let mut child = None;
                pool.install(|| pool_std::block_in_place(|| child = fork()));
                assert_eq!(end_of(child.unwrap()), End::Signal(libc::SIGABRT));
            });
        });
    });
}

/// The token that the section has given back is the parent's.
#[test]
fn a_child_that_leaves_a_blocked_section_takes_no_token() {
    alone(|| {
        let is_child = || IS_CHILD.load(SeqCst);
        let builder = ThreadPoolBuilder::new().num_threads(1);
        let builder = builder.deadlock_handler(|_| ());
        let builder = builder.acquire_thread_handler(move || {
            if is_child() {
                process::exit(1);
            }
        });
        let pool = builder.build().unwrap();
        let child = pool.install(|| {
            let child = pool_std::blocking("a fork", |blocked| {
                blocked.mark_unblocked().unwrap();
                let child = fork();
                IS_CHILD.store(child.is_none(), SeqCst);
                child
            });
            if child.is_none() {
                process::exit(0);
            }
            child
        });
        assert_eq!(end_of(child.unwrap()), End::Exit(0));
    });
}

#[test]
fn a_child_that_leaves_a_scope_is_ended_if_its_jobs_are_in_the_parent() {
    alone(|| {
        let pool = pool(1);
        let may_end = AtomicBool::new(false);
        expect_abort(|fork| {
            pool.in_place_scope(|scope| {
                scope.spawn(|_| {
                    while !may_end.load(SeqCst) {
                        thread::yield_now();
                    }
                });
                fork();
                may_end.store(true, SeqCst);
            });
        });
        let child = pool.in_place_scope(|_| fork());
        let Some(child) = child else { process::exit(0) };
        assert_eq!(end_of(child), End::Exit(0));
    });
}

/// The scope of the standard library would wait for the threads as well.
#[test]
fn a_child_that_leaves_a_scoped_pool_is_ended() {
    alone(|| {
        for [threads, adopts] in [[1, 0], [2, 0], [2, 1]] {
            thread::scope(|scope| {
                scope.spawn(move || {
                    let mut builder = ThreadPoolBuilder::new().num_threads(threads);
                    if adopts > 0 {
                        builder = builder.use_current_thread();
                    }
                    expect_abort(|fork| {
                        let built = builder.build_scoped(pool_std::ThreadBuilder::run, |_| fork());
                        built.unwrap();
                    });
                });
            });
        }
    });
}

/// Nothing is left that it would wait for.
#[test]
fn a_child_that_leaves_a_scoped_pool_that_has_ended_continues() {
    static ENDED: AtomicUsize = AtomicUsize::new(0);
    /// Is dropped when its thread has left the scope.
    struct CountsEnd;
    impl Drop for CountsEnd {
        fn drop(&mut self) {
            ENDED.fetch_add(1, SeqCst);
        }
    }
    thread_local!(static END: CountsEnd = const { CountsEnd });

    alone(|| {
        let wrapper = |thread: pool_std::ThreadBuilder| {
            END.with(|_| ());
            thread.run();
        };
        let builder = ThreadPoolBuilder::new().num_threads(2);
        let child = builder.build_scoped(wrapper, |pool| {
            pool.shutdown_timeout(Duration::MAX).unwrap();
            while ENDED.load(SeqCst) < 2 {
                thread::yield_now();
            }
            fork()
        });
        let Some(child) = child.unwrap() else {
            process::exit(0)
        };
        assert_eq!(end_of(child), End::Exit(0));
    });
}

/// In a child, none of the other workers takes the turn that it is given.
#[test]
fn a_child_that_leaves_a_job_of_a_seeded_pool_is_ended() {
    alone(|| {
        for seed in 0..8 {
            let builder = ThreadPoolBuilder::new().num_threads(4).seeded(seed);
            let pool = builder.build().unwrap();
            let (sender, receiver) = mpsc::channel();
            pool.install(|| {
                pool_std::scope(|scope| {
                    // All workers are woken, and wait for their turns.
                    (0..4).for_each(|_| scope.spawn(|_| ()));
                    if let Some(child) = fork() {
                        sender.send(child).unwrap();
                    }
                });
            });
            assert_eq!(end_of(receiver.recv().unwrap()), End::Signal(libc::SIGABRT));
        }
    });
}

/// The child cannot take the lock, and must not wait for it.
#[test]
fn a_child_is_ended_while_a_thread_of_the_parent_prints_an_error() {
    alone(|| {
        let [is_locked, may_end] = [(); 2].map(|()| AtomicBool::new(false));
        thread::scope(|threads| {
            threads.spawn(|| {
                let _locked = io::stderr().lock();
                is_locked.store(true, SeqCst);
                while !may_end.load(SeqCst) {
                    thread::yield_now();
                }
            });
            while !is_locked.load(SeqCst) {
                thread::yield_now();
            }
            expect_abort_of_a_join();
            may_end.store(true, SeqCst);
        });
    });
}

#[test]
fn a_join_whose_half_is_in_the_parent_ends_the_child() {
    alone(|| {
        expect_abort_of_a_join();
    });
}

/// The frame of the join cannot be left, and the other half is in the parent.
fn expect_abort_of_a_join() {
    let pool = pool(2);
    let [has_begun, may_end] = [(); 2].map(|()| AtomicBool::new(false));
    let mut child = None;
    pool.install(|| {
        join(
            || {
                while !has_begun.load(SeqCst) {
                    thread::yield_now();
                }
                child = fork();
                if child.is_some() {
                    may_end.store(true, SeqCst);
                }
            },
            || {
                has_begun.store(true, SeqCst);
                while !may_end.load(SeqCst) {
                    thread::yield_now();
                }
            },
        )
    });
    assert_eq!(end_of(child.unwrap()), End::Signal(libc::SIGABRT));
}

/// Queues jobs on a pool of one worker. The job that forks may then go on.
type Queue = fn(&ThreadPool, fn());

#[test]
fn a_child_runs_no_job_that_another_thread_has_queued() {
    let queues: [Queue; 4] = [
        |pool, job| pool.spawn(job),
        |pool, job| pool.spawn_urgent(job),
        |pool, job| pool.spawn_background(job),
        |pool, job| pool.spawn_broadcast(move |_| job()),
    ];
    alone(|| queues.into_iter().for_each(expect_abort_of_a_job_of_others));
}

fn expect_abort_of_a_job_of_others(queue: Queue) {
    let pool = pool(1);
    let (may_fork, fork_may_begin) = mpsc::channel();
    let (forked, child) = mpsc::channel();
    pool.spawn(move || {
        fork_may_begin.recv().unwrap();
        if let Some(child) = fork() {
            forked.send(child).unwrap();
        } else {
            IS_CHILD.store(true, SeqCst);
        }
    });
    queue(&pool, || {
        if IS_CHILD.load(SeqCst) {
            process::exit(1);
        }
    });
    may_fork.send(()).unwrap();
    assert_eq!(end_of(child.recv().unwrap()), End::Signal(libc::SIGABRT));
    pool.wait_idle().unwrap();
}

static IS_CHILD: AtomicBool = AtomicBool::new(false);

/// The worker of the child finds the jobs of another worker's deque in an isolated wait.
#[test]
fn a_child_steals_no_job_of_a_worker_of_its_parent() {
    alone(|| {
        let pool = pool(2);
        let (spawned, may_end) = (AtomicBool::new(false), AtomicBool::new(false));
        let wait_for = |flag: &AtomicBool| {
            while !flag.load(SeqCst) {
                thread::yield_now();
            }
        };
        let mut child = None;
        pool.install(|| {
            pool_std::isolate(|| {
                scope(|scope| {
                    scope.spawn(|scope| {
                        // The other worker has this job, and its deque the next one.
                        scope.spawn(|_| {
                            if IS_CHILD.load(SeqCst) {
                                process::exit(1);
                            }
                        });
                        spawned.store(true, SeqCst);
                        wait_for(&may_end);
                    });
                    wait_for(&spawned);
                    child = fork();
                    if child.is_none() {
                        IS_CHILD.store(true, SeqCst);
                    }
                    may_end.store(true, SeqCst);
                });
            });
        });
        assert_eq!(end_of(child.unwrap()), End::Signal(libc::SIGABRT));
    });
}

/// Waits until the closure's signal is set.
type Wait = fn(&mut dyn FnMut(Signal));

#[test]
fn a_child_that_leaves_the_begin_of_a_wait_is_ended() {
    let waits: [Wait; 2] = [
        |begin| driver::wait(begin),
        |begin| driver::wait_blocking(begin),
    ];
    alone(|| {
        for wait in waits {
            expect_abort(|fork| {
                let (sender, receiver) = mpsc::channel::<Signal>();
                thread::scope(|scope| {
                    scope.spawn(move || receiver.recv().unwrap().set());
                    wait(&mut |signal| {
                        fork();
                        sender.send(signal).unwrap();
                    });
                });
            });
            let mut child = None;
            wait(&mut |signal| {
                child = fork();
                signal.set();
            });
            let Some(child) = child else { process::exit(0) };
            assert_eq!(end_of(child), End::Exit(0));
        }
    });
}

/// Blocks the thread that drops it, which the pool counts as ended already.
struct Destructor;

impl Drop for Destructor {
    fn drop(&mut self) {
        IS_ENDING.store(true, SeqCst);
        while !MAY_END.load(SeqCst) {
            thread::yield_now();
        }
    }
}

static IS_ENDING: AtomicBool = AtomicBool::new(false);
static MAY_END: AtomicBool = AtomicBool::new(false);

thread_local! {
    static DESTRUCTOR: Destructor = const { Destructor };
}

/// Reproduces a bug: a worker that waited for the end of another pool's threads went on waiting in
/// the child for threads that only the parent has, or took them for joined; and it ran jobs that
/// others had queued.
#[test]
fn a_child_of_a_job_that_runs_while_another_pool_ends_is_ended() {
    alone(|| {
        let [other, pool] = [pool(1), pool(1)];
        other.install(|| DESTRUCTOR.with(|_| ()));
        let (sender, child) = mpsc::channel();
        pool.install(|| {
            pool_std::spawn(move || {
                while !IS_ENDING.load(SeqCst) {
                    thread::yield_now();
                }
                if let Some(child) = fork() {
                    sender.send(child).unwrap();
                    MAY_END.store(true, SeqCst);
                }
            });
            let result = other.shutdown();
            if !MAY_END.load(SeqCst) {
                // The child does not come here.
                process::exit(2);
            }
            result.unwrap();
        });
        assert_eq!(end_of(child.recv().unwrap()), End::Signal(libc::SIGABRT));
    });
}
