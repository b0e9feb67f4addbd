//! Jobs whose result is not awaited, and calls from outside, by the systems that have them.

use std::{
    rc::Rc,
    sync::{
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
};

use protocol::{Case, Unit};

use crate::pools::{Lazy, Pool, Pools};

/// A pool on which jobs can be spawned.
pub(crate) trait Spawning: Pool {
    fn spawn(&self, job: impl FnOnce() + Send + 'static);

    /// Spawns a job on the pool whose worker this thread is.
    fn spawn_here(job: impl FnOnce() + Send + 'static);

    fn install<R: Send>(&self, call: impl FnOnce() -> R + Send) -> R;

    /// Runs a closure on each worker; returns how many there are.
    fn broadcast(&self, job: impl Fn() + Sync) -> usize;

    /// Spawns the same job so many times, at once if the system can.
    fn spawn_many(&self, jobs: usize, job: impl Fn() + Copy + Send + 'static) {
        (0..jobs).for_each(|_| self.spawn(job));
    }

    /// Spawns so many jobs in a scope, from inside. Each counts itself.
    fn spawn_in_scope(&self, jobs: usize, done: &AtomicUsize);

    /// The same, at once if the system can.
    fn spawn_many_in_scope(&self, jobs: usize, done: &AtomicUsize) {
        self.spawn_in_scope(jobs, done);
    }

    /// The same in a scope that keeps their order.
    fn spawn_in_order(&self, jobs: usize, done: &AtomicUsize);

    /// Spawns so many jobs, from inside, and waits for the result of each, which is its number.
    /// Returns their sum. A worker that waits runs other jobs.
    fn spawn_with_results(&self, jobs: usize) -> usize;

    /// Opens scopes within scopes, each of which spawns one job, as `fib(depth)` makes calls.
    /// Returns how many.
    fn nest_scopes(&self, depth: u32) -> usize;
}

macro_rules! spawning {
    ($system:ident, $($at_once:item)*) => {
        impl Spawning for $system::ThreadPool {
            $($at_once)*

            fn spawn(&self, job: impl FnOnce() + Send + 'static) {
                self.spawn(job);
            }

            fn spawn_here(job: impl FnOnce() + Send + 'static) {
                $system::spawn(job);
            }

            fn install<R: Send>(&self, call: impl FnOnce() -> R + Send) -> R {
                self.install(call)
            }

            fn broadcast(&self, job: impl Fn() + Sync) -> usize {
                self.broadcast(|_| job()).len()
            }

            fn spawn_in_scope(&self, jobs: usize, done: &AtomicUsize) {
                self.scope(|scope| {
                    for _ in 0..jobs {
                        scope.spawn(|_| _ = done.fetch_add(1, Ordering::Relaxed));
                    }
                });
            }

            fn spawn_in_order(&self, jobs: usize, done: &AtomicUsize) {
                self.scope_fifo(|scope| {
                    for _ in 0..jobs {
                        scope.spawn_fifo(|_| _ = done.fetch_add(1, Ordering::Relaxed));
                    }
                });
            }

            fn nest_scopes(&self, depth: u32) -> usize {
                fn nest(depth: u32) -> usize {
                    if depth < 2 {
                        return 0;
                    }
                    let (mut left, mut right) = (0, 0);
                    $system::scope(|scope| {
                        scope.spawn(|_| left = nest(depth - 2));
                        right = nest(depth - 1);
                    });
                    1 + left + right
                }
                self.install(|| nest(depth))
            }
        }
    };
}

spawning! {
    pool_std,
    fn spawn_many(&self, jobs: usize, job: impl Fn() + Copy + Send + 'static) {
        self.spawn_many((0..jobs).map(|_| job));
    }

    fn spawn_many_in_scope(&self, jobs: usize, done: &AtomicUsize) {
        self.scope(|scope| {
            let job = |_: &_| _ = done.fetch_add(1, Ordering::Relaxed);
            scope.spawn_many((0..jobs).map(|_| job));
        });
    }

    fn spawn_with_results(&self, jobs: usize) -> usize {
        self.install(|| {
            let jobs: Vec<_> = (0..jobs).map(|job| pool_std::spawn_handle(move || job)).collect();
            jobs.into_iter().map(|job| job.join().expect("it returns")).sum()
        })
    }
}
spawning! {
    rayon_core,
    fn spawn_with_results(&self, jobs: usize) -> usize {
        self.install(|| {
            let spawn = |job| {
                let (sender, receiver) = mpsc::sync_channel(1);
                rayon_core::spawn(move || _ = sender.send(job));
                receiver
            };
            let jobs: Vec<_> = (0..jobs).map(spawn).collect();
            let result = |receiver: mpsc::Receiver<usize>| loop {
                match receiver.try_recv() {
                    Ok(result) => return result,
                    Err(_) => _ = rayon_core::yield_now(),
                }
            };
            jobs.into_iter().map(result).sum()
        })
    }
}

/// The same measurement on the pools of both systems.
pub(crate) fn on_both(
    group: &str,
    name: &str,
    unit: Unit,
    pools: &[Pools],
    ours: fn(&pool_std::ThreadPool) -> f64,
    rayon: fn(&rayon_core::ThreadPool) -> f64,
) -> Vec<Case> {
    let on_both = |pools: &Pools| {
        [
            case(group, name, unit, &pools.ours, ours),
            case(group, name, unit, &pools.rayon, rayon),
        ]
    };
    pools.iter().flat_map(on_both).collect()
}

fn case<P: Pool>(
    group: &str,
    name: &str,
    unit: Unit,
    pool: &Rc<Lazy<P>>,
    measure: fn(&P) -> f64,
) -> Case {
    let threads = pool.threads();
    let pool = pool.clone();
    let run = move || measure(pool.get());
    Case::new(group, name, threads, P::SYSTEM, unit, run)
}
