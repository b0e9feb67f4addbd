//! Jobs that each spawn the next one, on the only worker of a pool, until a job has run that was
//! there before: also while the worker waits.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
        mpsc,
    },
    thread,
    time::Duration,
};

use pool_std::{
    Isolation, JoinHandle, Scope, ThreadPool, ThreadPoolBuilder, block_on, join, spawn,
    spawn_handle,
};

/// Says when the flood ends. If it does not, it ends by itself, so that a test that fails ends.
#[derive(Clone, Default)]
struct Flood {
    is_over: Arc<AtomicBool>,
    jobs: Arc<AtomicUsize>,
}

impl Flood {
    const MOST: usize = 100_000;

    fn end(&self) {
        self.is_over.store(true, Relaxed);
    }

    /// Counts a job. Returns whether there is a next one.
    fn goes_on(&self) -> bool {
        !self.is_over.load(Relaxed) && self.jobs.fetch_add(1, Relaxed) < Self::MOST
    }

    fn spawn(self) {
        if self.goes_on() {
            spawn(|| self.spawn());
        }
    }

    /// Begins the flood above a job that ends it, and returns the handle of that job.
    fn begin_above_a_job(&self) -> JoinHandle<()> {
        let older = self.clone();
        let older = spawn_handle(move || older.end());
        self.clone().spawn();
        older
    }

    fn spawn_in<'scope>(&'scope self, scope: &Scope<'scope>) {
        if self.goes_on() {
            scope.spawn(|scope| self.spawn_in(scope));
        }
    }
}

fn pool(isolation: Isolation) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(1);
    builder.isolation(isolation).build().unwrap()
}

/// Runs a job that floods its worker, and checks that something has ended the flood.
fn ends(job: impl FnOnce(&Flood) + Send + 'static) {
    ends_in(Isolation::Anything, job);
}

/// Does so in a pool whose waits are isolated.
fn ends_in(isolation: Isolation, job: impl FnOnce(&Flood) + Send + 'static) {
    let (flood, pool) = (Flood::default(), pool(isolation));
    let (sender, receiver) = mpsc::channel();
    thread::spawn({
        let flood = flood.clone();
        move || {
            pool.install(|| job(&flood));
            sender.send(()).unwrap();
        }
    });
    let ended = receiver.recv_timeout(Duration::from_secs(60));
    assert_eq!(ended, Ok(()), "after {:?} jobs", flood.jobs);
    assert!(
        flood.jobs.load(Relaxed) < Flood::MOST,
        "no job has ended the flood"
    );
}

#[test]
fn the_join_of_a_handle_reaches_an_older_job() {
    ends(|flood| {
        let older = flood.begin_above_a_job();
        older.join().unwrap();
    });
}

#[test]
fn a_wait_for_a_limited_time_reaches_an_older_job() {
    ends(|flood| {
        let mut older = flood.begin_above_a_job();
        while !older.wait_timeout(Duration::from_millis(1)) {}
    });
}

#[test]
fn a_wait_for_a_future_reaches_an_older_job() {
    ends(|flood| {
        let older = flood.begin_above_a_job();
        block_on(older).unwrap();
    });
}

#[test]
fn a_scope_reaches_an_older_job() {
    ends(|flood| {
        pool_std::scope(|scope| {
            scope.spawn(|_| flood.end());
            flood.spawn_in(scope);
        });
    });
}

/// The flood is above the second half, which no other worker takes.
#[test]
fn a_join_reaches_its_second_half() {
    ends(|flood| {
        join(|| flood.clone().spawn(), || flood.end());
    });
}

/// The jobs of the flood are of what the worker waits for.
#[test]
fn isolated_waits_reach_older_jobs() {
    for isolation in [Isolation::Subtree, Isolation::Nothing] {
        ends_in(isolation, |flood| {
            pool_std::scope(|scope| {
                scope.spawn(|_| flood.end());
                flood.spawn_in(scope);
            });
        });
        ends_in(isolation, |flood| {
            pool_std::scope(|scope| join(|| flood.spawn_in(scope), || flood.end()));
        });
        for give_way in [pool_std::yield_now, pool_std::yield_local] {
            ends_in(isolation, move |flood| {
                pool_std::scope(|scope| {
                    scope.spawn(|_| flood.end());
                    flood.spawn_in(scope);
                    while flood.goes_on() {
                        give_way();
                    }
                });
            });
        }
        ends_in(isolation, |flood| {
            pool_std::scope(|scope| {
                scope.spawn(|_| flood.end());
                flood.spawn_in(scope);
                let mut handle = spawn_handle(|| ());
                while flood.goes_on() {
                    handle.wait_timeout(Duration::ZERO);
                }
            });
        });
    }
}

#[test]
fn a_worker_that_yields_reaches_an_older_job() {
    for give_way in [pool_std::yield_now, pool_std::yield_local] {
        ends(move |flood| {
            let older = flood.clone();
            spawn(move || older.end());
            flood.clone().spawn();
            while flood.goes_on() {
                give_way();
            }
        });
    }
}

#[test]
fn a_wait_reaches_a_broadcast() {
    ends(|flood| {
        let broadcast = flood.clone();
        pool_std::spawn_broadcast(move |_| broadcast.end());
        flood.clone().spawn();
        while flood.goes_on() {
            pool_std::yield_local();
        }
    });
}

/// Also where a job gives way, or polls, that is isolated.
#[test]
fn isolated_waits_reach_a_broadcast() {
    let waits: [fn(); 3] = [
        || _ = pool_std::yield_now(),
        || _ = pool_std::yield_local(),
        || _ = spawn_handle(|| ()).wait_timeout(Duration::ZERO),
    ];
    for isolation in [Isolation::Subtree, Isolation::Nothing] {
        for wait in waits {
            ends_in(isolation, move |flood| {
                let broadcast = flood.clone();
                pool_std::spawn_broadcast(move |_| broadcast.end());
                pool_std::scope(|scope| {
                    flood.spawn_in(scope);
                    while flood.goes_on() {
                        wait();
                    }
                });
            });
        }
        ends_in(isolation, |flood| {
            let broadcast = flood.clone();
            pool_std::spawn_broadcast(move |_| broadcast.end());
            pool_std::scope(|scope| flood.spawn_in(scope));
        });
    }
}

/// Only the worker that waits for the scope takes such a job.
#[test]
fn isolated_waits_reach_a_job_from_outside() {
    let waits: [fn(); 4] = [
        || (),
        || _ = pool_std::yield_now(),
        || _ = pool_std::yield_local(),
        || _ = spawn_handle(|| ()).wait_timeout(Duration::ZERO),
    ];
    for isolation in [Isolation::Subtree, Isolation::Nothing] {
        for (number, wait) in waits.into_iter().enumerate() {
            ends_in(isolation, move |flood| {
                pool_std::scope(|scope| {
                    thread::scope(|threads| {
                        threads.spawn(|| scope.spawn(|_| flood.end()));
                    });
                    flood.spawn_in(scope);
                    while number > 0 && flood.goes_on() {
                        wait();
                    }
                });
            });
        }
    }
}

/// Such a job may wait in turn, and take a still older one, until the stack ends.
#[test]
fn a_wait_takes_no_job_that_is_older_than_its_own() {
    for isolation in [Isolation::Anything, Isolation::Subtree, Isolation::Nothing] {
        let has_run = AtomicBool::new(false);
        pool(isolation).scope(|scope| {
            scope.spawn(|_| has_run.store(true, Relaxed));
            scope.spawn(|_| {
                pool_std::scope(|inner| (0..10_000).for_each(|_| inner.spawn(|_| ())));
                assert!(!has_run.load(Relaxed));
            });
        });
        assert!(has_run.load(Relaxed));
    }
}
