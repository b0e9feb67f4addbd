//! What a child finds, and what its parent keeps.

mod cells;
mod clock;
mod ended;
mod isolated;
mod seeds;
mod sets;

#[cfg(feature = "signal")]
use std::{
    io::{self, BufRead as _, BufReader},
    os::fd::AsRawFd as _,
};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    process,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering::SeqCst},
    },
    thread,
    time::Duration,
};

use crate::support::{End, SetOnDrop, alone, end_of, fork, in_child};
use pool_std::{
    ActiveWorkersError, ShutdownError, ThreadPool, ThreadPoolBuilder, WaitIdleError,
    driver::Driver, join,
};

fn pool(threads: usize) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(threads);
    builder.build().unwrap()
}

fn fib(n: u32) -> u32 {
    if n < 2 {
        return n;
    }
    let (a, b) = join(|| fib(n - 1), || fib(n - 2));
    a + b
}

/// Uses the current pool in several ways.
fn the_current_pool_works() -> bool {
    let count = AtomicUsize::new(0);
    pool_std::scope(|scope| {
        for _ in 0..10 {
            scope.spawn(|_| _ = count.fetch_add(1, SeqCst));
        }
    });
    pool_std::broadcast(|_| _ = count.fetch_add(1, SeqCst));
    let threads = pool_std::current_num_threads();
    let (sender, receiver) = std::sync::mpsc::channel();
    pool_std::spawn(move || sender.send(()).unwrap());
    fib(15) == 610 && count.into_inner() == 10 + threads && receiver.recv().is_ok()
}

#[test]
fn a_child_has_a_global_pool_of_its_own() {
    alone(|| {
        assert!(the_current_pool_works());
        in_child(|| {
            let is_built = ThreadPoolBuilder::new().num_threads(3).build_global();
            is_built.is_ok()
                && pool_std::current_num_threads() == 3
                && the_current_pool_works()
                && ThreadPoolBuilder::new().build_global().is_err()
        });
        in_child(the_current_pool_works);
        assert!(the_current_pool_works());
    });
}

#[test]
fn a_grandchild_has_another_one() {
    alone(|| {
        assert!(the_current_pool_works());
        in_child(|| {
            let works = the_current_pool_works();
            in_child(the_current_pool_works);
            works && the_current_pool_works()
        });
    });
}

#[test]
fn children_of_a_busy_process_work_and_the_parent_loses_nothing() {
    alone(|| {
        let forks = std::env::var("STRESS_CYCLES").map_or(100, |_| 1_000);
        let own = pool(2);
        let is_over = AtomicBool::new(false);
        let [calls, spawned, run] = [(); 3].map(|()| AtomicUsize::new(0));
        own.in_place_scope(|scope| {
            thread::scope(|threads| {
                let _end = SetOnDrop(&is_over);
                for _ in 0..2 {
                    threads.spawn(|| {
                        while !is_over.load(SeqCst) {
                            assert_eq!(fib(10), 55);
                            assert_eq!(own.install(|| fib(10)), 55);
                            calls.fetch_add(1, SeqCst);
                        }
                    });
                }
                for _ in 0..forks {
                    spawned.fetch_add(1, SeqCst);
                    scope.spawn(|_| _ = run.fetch_add(1, SeqCst));
                    in_child(|| fib(10) == 55 && pool(2).install(|| fib(10)) == 55);
                }
            });
        });
        assert!(calls.into_inner() > 0);
        assert_eq!(spawned.into_inner(), run.into_inner());
    });
}

#[test]
fn a_call_into_a_pool_of_the_parent_is_an_error() {
    alone(|| {
        let pool = pool(2);
        pool.install(|| ());
        in_child(|| {
            let calls: [&dyn Fn(); 8] = [
                &|| pool.install(|| ()),
                &|| pool.call(|| ()),
                &|| pool.spawn(|| ()),
                &|| _ = pool.join(|| (), || ()),
                &|| pool.scope(|_| ()),
                &|| pool.in_place_scope(|_| ()),
                &|| _ = pool.broadcast(|_| ()),
                &|| pool.spawn_broadcast(|_| ()),
            ];
            let says_why = |call: &dyn Fn()| {
                let panic = catch_unwind(AssertUnwindSafe(call)).expect_err("a panic");
                panic
                    .downcast_ref::<&str>()
                    .is_some_and(|text| text.contains("parent"))
            };
            let handle = pool.handle();
            let answers = (
                pool.wait_idle(),
                pool.set_active_workers(1),
                pool.shutdown_timeout(Duration::ZERO),
                handle.wait_until_stopped(),
            );
            let expected = (
                Err(WaitIdleError::Forked),
                Err(ActiveWorkersError::Forked),
                Err(ShutdownError::Forked),
                Err(ShutdownError::Forked),
            );
            calls.into_iter().all(says_why)
                && answers == expected
                && pool.shutdown() == Err(ShutdownError::Forked)
        });
    });
}

#[test]
fn the_drop_of_a_pool_of_the_parent_returns() {
    alone(|| {
        for threads in [1, 4] {
            let pool = pool(threads);
            in_child(|| {
                drop(pool);
                the_current_pool_works()
            });
        }
    });
}

/// Whether it is a job, a guest, a thread that lends its worker, or an adopted one.
#[test]
fn a_thread_that_is_a_worker_is_none_in_the_child() {
    alone(|| {
        let child =
            || in_child(|| pool_std::current_thread_index().is_none() && the_current_pool_works());
        let pool = pool(2);
        pool.install(child);
        pool.call(child);
        join(child, || ());
        pool.install(|| pool_std::block_in_place(child));
        thread::scope(|threads| {
            threads.spawn(|| {
                let builder = ThreadPoolBuilder::new().num_threads(2).use_current_thread();
                let adopting = builder.build().unwrap();
                child();
                in_child(|| {
                    let builder = ThreadPoolBuilder::new().num_threads(2).use_current_thread();
                    let adopting = builder.build().unwrap();
                    adopting.install(|| fib(10) == 55)
                });
                // A child that ends as processes do, with the destructors of its thread.
                let Some(number) = fork() else {
                    process::exit(i32::from(!the_current_pool_works()));
                };
                assert_eq!(end_of(number), End::Exit(0));
                drop(adopting);
            });
        });
    });
}

/// During the handler, the thread is no worker in the parent either.
#[test]
fn a_child_that_leaves_a_handler_is_no_worker() {
    static IS_TO_FORK: AtomicBool = AtomicBool::new(false);
    static CHILD: AtomicI32 = AtomicI32::new(0);

    alone(|| {
        let forks = || {
            if IS_TO_FORK.swap(false, SeqCst) {
                CHILD.store(fork().unwrap_or(0), SeqCst);
            }
        };
        let builder = ThreadPoolBuilder::new().num_threads(1);
        let pool = builder.acquire_thread_handler(forks).build().unwrap();
        pool.install(|| {
            IS_TO_FORK.store(true, SeqCst);
            pool_std::blocking("a handler", |_| ());
            let child = CHILD.load(SeqCst);
            if child == 0 {
                let is_none = pool_std::current_thread_index().is_none();
                process::exit(i32::from(!(is_none && the_current_pool_works())));
            }
            assert_eq!(end_of(child), End::Exit(0));
        });
    });
}

/// What it needs is in the child.
#[test]
fn a_child_that_leaves_a_call_works_on() {
    alone(|| {
        let pool = pool(1);
        let this_thread = thread::current().id();
        // A guest, as soon as the worker sleeps.
        let child = loop {
            let fork = || (thread::current().id() == this_thread).then(fork);
            if let Some(child) = pool.call(fork) {
                break child;
            }
        };
        let Some(child) = child else {
            let works = the_current_pool_works();
            drop(pool);
            process::exit(i32::from(!works));
        };
        assert_eq!(end_of(child), End::Exit(0));
        assert_eq!(pool.install(|| fib(10)), 55);
    });
}

/// What the parent was in the middle of says nothing of the child's own pools.
#[test]
fn a_child_ends_a_pool_of_its_own_in_the_middle_of_calls_of_the_parent() {
    fn ends_a_pool() -> bool {
        let builder = ThreadPoolBuilder::new().num_threads(2).use_current_thread();
        builder.build().is_ok_and(|pool| pool.shutdown() == Ok(()))
    }

    alone(|| {
        let pool = pool(2);
        pool.in_place_scope(|_| in_child(ends_a_pool));
        let in_own_scope = || {
            let builder = ThreadPoolBuilder::new().num_threads(2).use_current_thread();
            let _pool = builder.build().unwrap();
            pool_std::in_place_scope(|_| in_child(ends_a_pool));
        };
        thread::scope(|threads| _ = threads.spawn(in_own_scope));
        pool.install(|| pool_std::block_in_place(|| in_child(ends_a_pool)));
    });
}

#[test]
fn a_child_does_not_start_the_lazy_threads_of_a_pool_of_the_parent() {
    alone(|| {
        let pool = ThreadPoolBuilder::new()
            .num_threads(2)
            .lazy_threads()
            .build()
            .unwrap();
        in_child(|| {
            _ = pool.progress();
            pool.start_threads().is_ok() && the_current_pool_works()
        });
        assert_eq!(pool.install(|| 1), 1);
    });
}

/// Threads of the parent build pools all the time, and may hold a lock of a list of pools. They
/// start no threads: the standard library has a lock for that, which would be held in the child.
#[test]
fn a_child_builds_a_pool_while_threads_of_the_parent_do() {
    alone(|| {
        let is_over = AtomicBool::new(false);
        thread::scope(|threads| {
            let _end = SetOnDrop(&is_over);
            for _ in 0..2 {
                threads.spawn(|| {
                    while !is_over.load(SeqCst) {
                        let builder = ThreadPoolBuilder::new().num_threads(1).lazy_threads();
                        drop(builder.build().unwrap());
                    }
                });
            }
            for _ in 0..200 {
                in_child(|| pool(1).install(|| true));
            }
        });
    });
}

/// The thread that prints for the parent is not there.
#[cfg(feature = "signal")]
#[test]
fn a_child_prints_the_state_of_its_own_pools_too() {
    alone(|| {
        // SAFETY: no other thread of the process uses the environment meanwhile.
        unsafe { std::env::set_var("POOL_STD_STATE_SIGNAL", "USR1") };
        let parents = pool(1);
        parents.install(|| ());
        in_child(|| {
            let own = pool(2);
            own.install(|| ());
            let (reader, writer) = io::pipe().unwrap();
            // SAFETY: both descriptors are open. This process prints no other errors.
            let copied = unsafe { libc::dup2(writer.as_raw_fd(), libc::STDERR_FILENO) };
            assert_ne!(copied, -1);
            // SAFETY: the call has no requirements.
            assert_eq!(unsafe { libc::raise(libc::SIGUSR1) }, 0);
            let mut lines = BufReader::new(reader).lines().map(Result::unwrap);
            lines.any(|line| line.contains(": 2 workers, 1 jobs run"))
        });
    });
}

#[test]
fn a_handle_of_the_parent_is_an_error() {
    alone(|| {
        let pool = pool(1);
        let may_end = Arc::new(AtomicBool::new(false));
        let waits = || {
            let may_end = may_end.clone();
            pool.spawn_handle(move || {
                while !may_end.load(SeqCst) {
                    thread::yield_now();
                }
            })
        };
        let [mut joined, polled] = [waits(), waits()];
        let mut set = pool_std::JoinSet::from_iter([waits(), waits()]);
        in_child(|| {
            let is_over = joined.wait_timeout(Duration::from_secs(60));
            // A pool of the child's own.
            set.push(pool_std::spawn_handle(|| ()));
            let set = [
                set.join_next(),
                set.join_next(),
                set.join_next(),
                set.join_next(),
            ];
            let [Some(first), Some(second), Some(Ok(())), None] = set else {
                return false;
            };
            let errors = [joined.join(), pool_std::block_on(polled), first, second];
            !is_over && errors.into_iter().all(|it| it.unwrap_err().is_forked())
        });
        may_end.store(true, SeqCst);
    });
}

/// The child leaves what has kept the pool. Its end would call the drivers, which share files with
/// those of the parent, and would take locks that threads of the parent may hold.
#[test]
fn a_child_does_not_end_a_pool_of_the_parent() {
    struct NotesEnd(Arc<AtomicBool>);

    impl Driver for NotesEnd {
        fn end(&self) {
            self.0.store(true, SeqCst);
        }
    }

    alone(|| {
        let has_ended = Arc::new(AtomicBool::new(false));
        let driver = NotesEnd(has_ended.clone());
        let builder = ThreadPoolBuilder::new().num_threads(1);
        let pool = builder.driver(|_| Ok(driver)).build().unwrap();
        let child = pool.in_place_scope(|_| {
            // From now on only the scope keeps the pool.
            let begun = pool.shutdown_timeout(Duration::ZERO);
            assert_eq!(begun, Err(ShutdownError::FromWorker));
            fork()
        });
        let Some(child) = child else {
            process::exit(i32::from(has_ended.load(SeqCst)));
        };
        assert_eq!(end_of(child), End::Exit(0));
        pool.shutdown().unwrap();
        assert!(has_ended.load(SeqCst));
    });
}

/// The wait polls, and so does not come to a sleep that would end the child.
#[test]
fn a_child_ends_a_timed_wait_below_its_job() {
    alone(|| {
        let [pool, other] = [pool(1), pool(1)];
        let may_end = Arc::new(AtomicBool::new(false));
        let job_may_end = may_end.clone();
        let mut job = other.spawn_handle(move || {
            while !job_may_end.load(SeqCst) {
                thread::yield_now();
            }
        });
        pool.install(|| {
            spawn_a_fork(move || may_end.store(true, SeqCst));
            if !job.wait_timeout(Duration::MAX) {
                process::exit(0);
            }
        });
    });
}

#[test]
fn a_child_of_a_job_that_a_shutdown_runs_is_told_so() {
    alone(|| {
        thread::scope(|threads| {
            threads.spawn(|| {
                let builder = ThreadPoolBuilder::new().num_threads(1).use_current_thread();
                let adopting = builder.build().unwrap();
                adopting.install(|| spawn_a_fork(|| ()));
                match adopting.shutdown_timeout(Duration::MAX) {
                    Ok(()) => {}
                    result => process::exit(i32::from(result != Err(ShutdownError::Forked))),
                }
            });
        });
    });
}

/// Spawns a job that forks, and then in the parent waits for the child, which must exit with 0, and
/// calls the closure.
fn spawn_a_fork(then: impl FnOnce() + Send + 'static) {
    pool_std::spawn(|| {
        if let Some(child) = fork() {
            assert_eq!(end_of(child), End::Exit(0));
            then();
        }
    });
}
