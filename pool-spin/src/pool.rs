//! A pool in a static, whose workers are cores.

use core::fmt;

use pool_core::{
    Deque, IdlePolicy, IntrusiveInjector, Jec, Order, Registry, Slot, UnknownWorker, WorkerShared,
    WorkerThread,
    progress::{self, Line, Progress},
};

mod arena;
mod broadcast;
mod counting;
mod error;
mod lifecycle;
mod platform;
mod scope;
mod spawn;
mod statistics;
mod system;
#[cfg(test)]
mod tests;
mod worker;

pub use arena::{Arena, CLOSURE_WORDS};
pub use error::{ReleaseError, RunError, SpawnError, SpawnErrorReason, StillRunning};
pub use scope::Scope;
pub use spawn::Task;
pub use statistics::Statistics;
pub use system::{Cores, System};
pub use worker::Worker;

use crate::machine::{CoreLocal as _, Machine};
use counting::Counting;
use platform::{PoolData, run};

/// A pool of `CORES` workers, each with room for `JOBS` queued jobs (a power of two).
///
/// Lives in a `static` and needs no initialiser and no allocator. A core becomes a worker by
/// [`run_worker`](Self::run_worker), or for a while by [`run_with`](Self::run_with); others give
/// the pool work by [`install`](Self::install). Workers may come late, leave and come back.
///
/// A `join` that finds its worker's deque full runs both its closures at once, so `JOBS` limits
/// parallelism, never depth. It is also how many [spawned](Self::spawn) closures may wait.
///
/// A panic in a job goes to the program's panic handler, on the core and the stack where it
/// happened. The pool holds no lock at that point. Whoever waits for the job waits for ever, so the
/// handler should stop or restart the machine. (Where panics unwind, they abort.)
///
/// Interrupt handlers may call [`spawn`](Self::spawn), [`spawn_task`](Self::spawn_task),
/// [`wake_worker`](Self::wake_worker), [`release_worker`](Self::release_worker),
/// [`end`](Self::end), [`delay`](Self::delay), [`statistics`](Self::statistics) and
/// [`num_sleeping`](Self::num_sleeping): none of these waits for anything. The rest is not for
/// handlers: on a worker's core they would find the worker in the middle of something.
///
/// # Examples
/// ```
/// use pool_spin::{Cores, SpinPool, Worker, host::{self, Host}};
///
/// type System = Cores<Host, 2, 64>;
/// static POOL: SpinPool<System> = SpinPool::new();
///
/// fn fib(core: Worker<System>, n: u32) -> u32 {
///     if n < 2 {
///         return n;
///     }
///     let (a, b) = core.join(|core| fib(core, n - 1), |core| fib(core, n - 2));
///     a + b
/// }
///
/// let answer = host::with_workers(&POOL, || POOL.install(|core| fib(core, 15)));
/// assert_eq!(answer, 610);
/// ```
pub struct SpinPool<S: System> {
    registry: Registry<S>,
}

/// Why a worker returned from [`SpinPool::run_worker`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[doc(alias = "Left")]
pub enum ExitReason {
    /// The pool has ended.
    Ended,
    /// The worker was [released](SpinPool::release_worker); the pool goes on.
    Released,
    /// What the worker was to run for is the case, see [`SpinPool::run_worker_until`].
    Done,
}

impl<M: Machine, const CORES: usize, const JOBS: usize> SpinPool<Cores<M, CORES, JOBS>> {
    /// A pool whose idle workers behave by the default policy.
    #[must_use]
    pub const fn new() -> Self {
        Self::with_idle_policy(IdlePolicy::DEFAULT)
    }

    /// A pool whose idle workers behave by this policy.
    #[must_use]
    pub const fn with_idle_policy(policy: IdlePolicy) -> Self {
        const { assert!(CORES > 0, "a pool needs a worker") };
        let workers = [const {
            WorkerShared::new(
                Deque::fixed(Order::Lifo),
                IntrusiveInjector::new(),
                IntrusiveInjector::new(),
            )
        }; CORES];
        let slots = [const { Slot::new(Counting::new()) }; CORES];
        let sleep = Jec::from_array(slots, policy);
        let lines = [const { Line::new(Counting::new()) }; CORES];
        Self {
            registry: Registry::new(
                sleep,
                workers,
                Progress::from_array(lines),
                IntrusiveInjector::new(),
                PoolData::new(),
            ),
        }
    }
}

impl<S: System> SpinPool<S> {
    /// The number of workers that the pool has places for.
    #[must_use]
    pub const fn num_workers(&self) -> usize {
        S::CORES
    }

    pub(crate) fn registry(&self) -> &Registry<S> {
        &self.registry
    }

    /// This core becomes worker number `index` until the pool [ends](Self::end) or the worker is
    /// [released](Self::release_worker); says which.
    ///
    /// A worker that is released leaves the jobs on its deque to the others, and may come back, on
    /// this core or another one. One that comes after the end returns at once.
    ///
    /// # Errors
    /// [`RunError`] if there is no such worker, if another core is it, or if this core is a worker
    /// already.
    pub fn run_worker(&'static self, index: usize) -> Result<ExitReason, RunError> {
        self.run_worker_until(index, || false)
    }

    /// As [`run_worker`](Self::run_worker), or until a condition is true: for the main loop of a
    /// core that sleeps until there is something to do.
    ///
    /// The worker looks at the condition when it comes, and each time that somebody calls
    /// [`wake_worker`](Self::wake_worker) for it.
    ///
    /// # Errors
    /// As [`run_worker`](Self::run_worker).
    ///
    /// # Examples
    /// ```
    /// use std::sync::atomic::{AtomicBool, Ordering};
    ///
    /// use pool_spin::{Cores, SpinPool, host::Host};
    ///
    /// static POOL: SpinPool<Cores<Host, 2, 64>> = SpinPool::new();
    /// static TICKED: AtomicBool = AtomicBool::new(false);
    ///
    /// // In an interrupt handler.
    /// fn tick() {
    ///     TICKED.store(true, Ordering::Release);
    ///     let _ = POOL.wake_worker(0);
    /// }
    /// # tick();
    ///
    /// // On core 0: works for others, or sleeps, until it ticks.
    /// POOL.run_worker_until(0, || TICKED.swap(false, Ordering::Acquire))?;
    /// # Ok::<(), pool_spin::RunError>(())
    /// ```
    pub fn run_worker_until(
        &'static self,
        index: usize,
        mut condition: impl FnMut() -> bool,
    ) -> Result<ExitReason, RunError> {
        let reason = self.as_worker(index, |worker| {
            loop {
                // The latch may have been set long ago, or for the time before a restart.
                if !worker.renew() {
                    while worker.yield_now() {}
                    return ExitReason::Ended;
                }
                if self.registry.data().gates.as_ref()[index].is_released() {
                    return ExitReason::Released;
                }
                if condition() {
                    return ExitReason::Done;
                }
                worker.run_until_released();
            }
        });
        match reason {
            Err(RunError::Ended) => Ok(ExitReason::Ended),
            reason => reason,
        }
    }

    /// This core becomes worker number `index` while a closure runs: for the core that boots, and
    /// for one that takes part now and then. The closure should join, or open scopes; jobs that it
    /// spawns are run by other workers, or by this one when it next waits for something.
    ///
    /// # Errors
    /// As [`run_worker`](Self::run_worker), and if the pool has ended.
    pub fn run_with<R>(
        &'static self,
        index: usize,
        closure: impl FnOnce(Worker<'_, S>) -> R,
    ) -> Result<R, RunError> {
        let reference = self.try_hold().ok_or(RunError::Ended)?;
        self.as_worker(index, |worker| {
            let _reference = reference;
            closure(Worker(worker))
        })
    }

    fn as_worker<R>(
        &'static self,
        index: usize,
        body: impl FnOnce(&WorkerThread<S>) -> R,
    ) -> Result<R, RunError> {
        if !<S::Machine as Machine>::Local::get().is_null() {
            return Err(RunError::AlreadyWorker);
        }
        let place = self.registry.worker(index);
        let place = place.map_err(RunError::UnknownWorker)?;
        let data = self.registry.data();
        // After the end too, as long as there is something to be run.
        if !data.lifecycle.join(self.registry.has_references()) {
            return Err(RunError::Ended);
        }
        // SAFETY: 1. a static outlives everything; 2. keeping it alive needs nothing.
        let Some(worker) = (unsafe { WorkerThread::new(&raw const self.registry, place) }) else {
            data.lifecycle.leave();
            return Err(RunError::Taken);
        };
        // SAFETY: 1. it stays in this frame until it leaves.
        unsafe { worker.enter() };
        data.gates.as_ref()[index].open();

        let result = run(|| body(&worker));

        data.gates.as_ref()[index].close();
        worker.run_inbox_jobs();
        worker.hand_over();
        worker.leave();
        drop(worker);
        data.lifecycle.leave();
        Ok(result)
    }

    /// Asks a worker to return from [`run_worker`](Self::run_worker), which it does after the job
    /// that it is running. Before the core is switched off, for instance. One in
    /// [`run_with`](Self::run_with) leaves when that returns anyway.
    ///
    /// It is the worker that is there now which is asked; one that comes later is not.
    ///
    /// # Errors
    /// [`ReleaseError`] if there is no such worker, or no core is it now.
    pub fn release_worker(&'static self, index: usize) -> Result<(), ReleaseError> {
        let worker = self.registry.worker(index);
        let worker = worker.map_err(ReleaseError::UnknownWorker)?;
        if !self.registry.data().gates.as_ref()[index].release() {
            return Err(ReleaseError::Absent);
        }
        self.registry.release(worker);
        Ok(())
    }

    /// Has a worker look at the condition of its [`run_worker_until`](Self::run_worker_until), now
    /// or when it comes. What was written before is visible to it.
    ///
    /// # Errors
    /// [`UnknownWorker`] if there are not so many.
    pub fn wake_worker(&'static self, index: usize) -> Result<(), UnknownWorker> {
        self.registry.release(self.registry.worker(index)?);
        Ok(())
    }

    /// Calls a closure with the worker that this core is, if it is one of this pool.
    pub fn with_current_worker<R>(
        &'static self,
        closure: impl FnOnce(Option<Worker<'_, S>>) -> R,
    ) -> R {
        // SAFETY: 1. the closure cannot keep the reference, and nothing leaves meanwhile: that is
        // done by the frame that entered, further up the stack.
        let worker = unsafe { WorkerThread::current() };
        let own = worker.filter(|worker| core::ptr::eq(worker.registry(), &self.registry));
        closure(own.map(Worker))
    }

    /// Lets the workers return from [`run_worker`](Self::run_worker) when everything has been run
    /// that was spawned or installed; until then, workers may still come. A second call does
    /// nothing.
    pub fn end(&'static self) {
        if self.registry.data().lifecycle.end() {
            self.registry.remove_reference();
        }
    }

    /// Lets the pool be used again, after it has [ended](Self::end) and its workers have left.
    ///
    /// # Errors
    /// [`StillRunning`] if it has not ended, or some of its workers have not left.
    pub fn restart(&'static self) -> Result<(), StillRunning> {
        let lifecycle = &self.registry.data().lifecycle;
        if !lifecycle.try_begin_restart() {
            return Err(StillRunning);
        }
        self.registry.renew_reference();
        lifecycle.finish_restart();
        Ok(())
    }

    /// Holds up what workers have [scheduled](Worker::schedule), until the guard is dropped, which
    /// should be soon: so that this core may read what is freed in that way. Jobs, other cores and
    /// interrupt handlers alike.
    pub fn delay(&'static self) -> impl progress::Guard + use<S> {
        self.registry.read()
    }
}

impl<M: Machine, const CORES: usize, const JOBS: usize> Default
    for SpinPool<Cores<M, CORES, JOBS>>
{
    fn default() -> Self {
        Self::new()
    }
}

impl<S: System> fmt::Debug for SpinPool<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpinPool")
            .field("registry", &self.registry)
            .finish()
    }
}
