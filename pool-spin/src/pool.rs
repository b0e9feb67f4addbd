//! A pool in a `static`, whose workers are cores.

use core::fmt;

use pool_core::{
    Deque, IdlePolicy, IntrusiveInjector, Jec, Order, Registry, Slot, UnknownWorker, WorkerShared,
    WorkerThread,
    progress::{self, Participant, Progress},
};

mod arena;
mod broadcast;
mod error;
mod lifecycle;
mod metrics;
mod platform;
mod scope;
mod spawn;
mod system;
#[cfg(test)]
mod tests;
mod worker;

pub use arena::{Arena, CLOSURE_WORDS};
pub use error::{ReleaseError, RunError, SpawnError, SpawnErrorReason, StillRunning};
pub use metrics::PoolMetrics;
pub use scope::Scope;
pub use spawn::Task;
use system::Protocol;
pub use system::{Cores, DefaultProtocol, System};
pub use worker::Worker;

use crate::machine::{CoreLocal as _, CoreParker as _, Machine};
use platform::{PoolData, WorkerObserver, run};

/// A pool in a `static`, whose workers are cores.
///
/// `S` names the machine, the number of workers and the room for jobs, see [`Cores`]. A pool needs
/// no initialization at run time and no allocator. A core becomes a worker by
/// [`run_worker`](Self::run_worker), or for a while by [`run_with`](Self::run_with). Other cores
/// pass work to the pool by [`install`](Self::install). Workers may arrive late, leave and come
/// back.
///
/// A `join` that finds its worker's deque full runs both its closures at once. So
/// [`JOBS`](System::JOBS) limits parallelism, never depth. It is also the number of
/// [spawned](Self::spawn) closures that may wait.
///
/// A panic in a job goes to the program's panic handler, on the core and the stack where it
/// happened. The pool holds no lock at that point. A core that waits for the job would wait forever,
/// so the handler should stop or restart the machine. (Where panics unwind, they abort.)
///
/// Interrupt handlers may call [`spawn`](Self::spawn), [`spawn_task`](Self::spawn_task),
/// [`wake_worker`](Self::wake_worker), [`release_worker`](Self::release_worker),
/// [`end`](Self::end), [`delay`](Self::delay), [`metrics`](Self::metrics) and
/// [`num_sleeping`](Self::num_sleeping): none of these waits for anything. Handlers must call
/// nothing else: they may have interrupted this core's worker in the middle of an operation.
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
#[doc(alias = "ThreadPool")]
pub struct SpinPool<S: System> {
    registry: Registry<S>,
}

/// The reason why a worker returned from [`SpinPool::run_worker`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[doc(alias = "Left")]
pub enum ExitReason {
    /// The pool has ended.
    Ended,
    /// The worker was [released](SpinPool::release_worker); the pool continues.
    Released,
    /// The condition of [`SpinPool::run_worker_until`] is true.
    Done,
}

impl<M: Machine, const CORES: usize, const JOBS: usize> SpinPool<Cores<M, CORES, JOBS>> {
    /// Creates a pool whose idle workers follow the default policy.
    #[must_use]
    pub const fn new() -> Self {
        Self::with_idle_policy(IdlePolicy::DEFAULT)
    }

    /// Creates a pool whose idle workers follow the given policy.
    ///
    /// # Examples
    /// ```
    /// use pool_spin::{Cores, IdlePolicy, SpinPool, host::Host};
    ///
    /// // Workers sleep as soon as they find no work.
    /// static POOL: SpinPool<Cores<Host, 4, 64>> =
    ///     SpinPool::with_idle_policy(IdlePolicy::IMMEDIATE);
    /// ```
    #[must_use]
    pub const fn with_idle_policy(policy: IdlePolicy) -> Self {
        let slots = [const { Slot::new(M::Parker::NEW) }; CORES];
        Self::with_protocol(Jec::from_array(slots, policy))
    }
}

impl<M: Machine, const CORES: usize, const JOBS: usize, K: Protocol<M::Parker>>
    SpinPool<Cores<M, CORES, JOBS, K>>
{
    /// Creates a pool whose workers sleep by the given protocol, which must be made for `CORES`
    /// workers. A pool with a protocol for fewer workers stops the program when one of the others
    /// searches for work.
    ///
    /// # Examples
    /// ```
    /// use pool_spin::{Busy, CoreParker, Cores, IdlePolicy, Machine, SpinPool, host::Host};
    ///
    /// type Parker = <Host as Machine>::Parker;
    ///
    /// // Workers never sleep.
    /// static POOL: SpinPool<Cores<Host, 2, 64, Busy<Parker, [Parker; 2]>>> =
    ///     SpinPool::with_protocol(Busy::from_array([Parker::NEW; 2], IdlePolicy::DEFAULT));
    /// ```
    #[must_use]
    pub const fn with_protocol(sleep: K) -> Self {
        const { assert!(CORES > 0, "a pool needs a worker") };
        let workers = [const {
            WorkerShared::new(
                Deque::fixed(Order::Lifo),
                IntrusiveInjector::new(),
                IntrusiveInjector::new(),
                WorkerObserver::new(),
            )
        }; CORES];
        let participants = [const { Participant::new(M::Parker::NEW) }; CORES];
        Self {
            registry: Registry::new(
                sleep,
                workers,
                Progress::new(participants),
                IntrusiveInjector::new(),
                PoolData::new(),
            ),
        }
    }
}

impl<S: System> SpinPool<S> {
    /// Returns the number of workers that the pool has places for.
    #[must_use]
    pub const fn num_workers(&self) -> usize {
        S::CORES
    }

    pub(crate) fn registry(&self) -> &Registry<S> {
        &self.registry
    }

    /// Makes this core worker number `index` until the pool [ends](Self::end) or the worker is
    /// [released](Self::release_worker). Returns which of the two happened.
    ///
    /// A worker that is released leaves the jobs on its deque to the others. It may come back, on
    /// this core or another one. A worker that arrives after the end returns at once.
    ///
    /// # Errors
    /// [`RunError`] if there is no such worker, if another core is this worker, or if this core is
    /// a worker already.
    ///
    /// # Examples
    /// ```
    /// use pool_spin::{Cores, ExitReason, SpinPool, host::Host};
    ///
    /// static POOL: SpinPool<Cores<Host, 2, 64>> = SpinPool::new();
    ///
    /// std::thread::scope(|threads| {
    ///     for index in 0..2 {
    ///         threads.spawn(move || assert_eq!(POOL.run_worker(index), Ok(ExitReason::Ended)));
    ///     }
    ///     assert_eq!(POOL.install(|core| core.join(|_| 1, |_| 2)), (1, 2));
    ///     POOL.end();
    /// });
    /// ```
    pub fn run_worker(&'static self, index: usize) -> Result<ExitReason, RunError> {
        self.run_worker_until(index, || false)
    }

    /// Makes this core a worker as [`run_worker`](Self::run_worker) does, but returns as soon as a
    /// condition is true: for the main loop of a core that sleeps until there is something to do.
    ///
    /// The worker checks the condition when it arrives, and each time that
    /// [`wake_worker`](Self::wake_worker) is called for it.
    ///
    /// # Errors
    /// Those of [`run_worker`](Self::run_worker).
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
    /// // On core 0: runs jobs, or sleeps, until the next tick.
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
                // The latch may have been set long ago, or before the last restart.
                if !worker.reset_stop() {
                    while worker.yield_now() {}
                    return ExitReason::Ended;
                }
                if self.registry.data().gates.as_ref()[index].is_released() {
                    return ExitReason::Released;
                }
                if condition() {
                    return ExitReason::Done;
                }
                worker.run_until_stopped();
            }
        });
        match reason {
            Err(RunError::Ended) => Ok(ExitReason::Ended),
            reason => reason,
        }
    }

    /// Makes this core worker number `index` while a closure runs: for the core that boots, and for
    /// cores that take part now and then.
    ///
    /// The closure should join, or open scopes. Jobs that it spawns are run by other workers, or by
    /// this one when it next waits for something.
    ///
    /// # Errors
    /// Those of [`run_worker`](Self::run_worker), and [`RunError::Ended`] if the pool has ended.
    ///
    /// # Examples
    /// ```
    /// use pool_spin::{Cores, SpinPool, host::Host};
    ///
    /// static POOL: SpinPool<Cores<Host, 2, 64>> = SpinPool::new();
    ///
    /// let (a, b) = POOL.run_with(0, |core| core.join(|_| 1, |_| 2))?;
    /// assert_eq!(a + b, 3);
    /// # Ok::<(), pool_spin::RunError>(())
    /// ```
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
        // A worker may arrive after the end, too, as long as there are jobs to run.
        if !data.lifecycle.join(self.registry.has_references()) {
            return Err(RunError::Ended);
        }
        // SAFETY: 1. The registry is in a static, which outlives the worker. 2. Nothing is needed to
        // keep a static alive.
        let Some(worker) = (unsafe { WorkerThread::new(&raw const self.registry, place) }) else {
            data.lifecycle.leave();
            return Err(RunError::Taken);
        };
        // SAFETY: 1. The worker stays in this frame until it leaves.
        unsafe { worker.enter() };
        data.gates.as_ref()[index].open();

        let result = run(|| body(&worker));

        data.gates.as_ref()[index].close();
        worker.run_inbox_jobs();
        worker.notify_leftovers();
        worker.leave();
        drop(worker);
        data.lifecycle.leave();
        Ok(result)
    }

    /// Asks a worker to return from [`run_worker`](Self::run_worker), for instance before its core
    /// is switched off. The worker returns after the job that it is running.
    ///
    /// A worker in [`run_with`](Self::run_with) leaves when that returns anyway. The request is for
    /// the worker that is there now, not for one that arrives later.
    ///
    /// # Errors
    /// [`ReleaseError`] if there is no such worker, or if no core is this worker now.
    ///
    /// # Examples
    /// ```
    /// use pool_spin::{Cores, ExitReason, ReleaseError, SpinPool, host::Host};
    ///
    /// static POOL: SpinPool<Cores<Host, 2, 64>> = SpinPool::new();
    ///
    /// assert_eq!(POOL.release_worker(1), Err(ReleaseError::Absent));
    /// std::thread::scope(|threads| {
    ///     let worker = threads.spawn(|| POOL.run_worker(1));
    ///     while POOL.release_worker(1).is_err() {} // until it has arrived
    ///     assert_eq!(worker.join().unwrap(), Ok(ExitReason::Released));
    /// });
    /// ```
    pub fn release_worker(&'static self, index: usize) -> Result<(), ReleaseError> {
        let worker = self.registry.worker(index);
        let worker = worker.map_err(ReleaseError::UnknownWorker)?;
        if !self.registry.data().gates.as_ref()[index].release() {
            return Err(ReleaseError::Absent);
        }
        self.registry.request_stop(worker);
        Ok(())
    }

    /// Makes a worker check the condition of its [`run_worker_until`](Self::run_worker_until), now
    /// or when it arrives. The worker sees everything that was written before the call.
    ///
    /// # Errors
    /// [`UnknownWorker`] if there is no such worker.
    ///
    /// # Examples
    /// See [`run_worker_until`](Self::run_worker_until).
    pub fn wake_worker(&'static self, index: usize) -> Result<(), UnknownWorker> {
        self.registry.request_stop(self.registry.worker(index)?);
        Ok(())
    }

    /// Calls a closure with the worker that this core is, or with `None` if this core is not a
    /// worker of this pool.
    ///
    /// # Examples
    /// ```
    /// use pool_spin::{Cores, SpinPool, Worker, host::Host};
    ///
    /// static POOL: SpinPool<Cores<Host, 2, 64>> = SpinPool::new();
    ///
    /// let index = || POOL.with_current_worker(|worker| worker.map(Worker::index));
    /// assert_eq!(index(), None);
    /// assert_eq!(POOL.run_with(1, |_| index()), Ok(Some(1)));
    /// ```
    pub fn with_current_worker<R>(
        &'static self,
        closure: impl FnOnce(Option<Worker<'_, S>>) -> R,
    ) -> R {
        // SAFETY: 1. The closure cannot keep the reference, and the worker does not leave
        // meanwhile: only the frame that entered leaves, further up the stack.
        let worker = unsafe { WorkerThread::current() };
        let own = worker.filter(|worker| core::ptr::eq(worker.registry(), &self.registry));
        closure(own.map(Worker))
    }

    /// Ends the pool: workers return from [`run_worker`](Self::run_worker) once everything that was
    /// spawned or installed has run. Until then, workers may still arrive.
    ///
    /// A second call does nothing.
    ///
    /// # Examples
    /// See [`restart`](Self::restart).
    pub fn end(&'static self) {
        if self.registry.data().lifecycle.end() {
            self.registry.remove_reference();
        }
    }

    /// Starts a pool again that has [ended](Self::end) and whose workers have left.
    ///
    /// # Errors
    /// [`StillRunning`] if the pool has not ended, or if some of its workers have not left.
    ///
    /// # Examples
    /// ```
    /// use pool_spin::{Cores, SpinPool, StillRunning, host::Host};
    ///
    /// static POOL: SpinPool<Cores<Host, 2, 64>> = SpinPool::new();
    ///
    /// assert_eq!(POOL.restart(), Err(StillRunning));
    /// POOL.end();
    /// assert!(POOL.run_with(0, |_| ()).is_err());
    /// POOL.restart()?;
    /// assert!(POOL.run_with(0, |_| ()).is_ok());
    /// # Ok::<(), StillRunning>(())
    /// ```
    pub fn restart(&'static self) -> Result<(), StillRunning> {
        let lifecycle = &self.registry.data().lifecycle;
        if !lifecycle.try_begin_restart() {
            return Err(StillRunning);
        }
        self.registry.renew_reference();
        lifecycle.finish_restart();
        Ok(())
    }

    /// Delays the operations that workers have [scheduled](Worker::schedule) until the guard is
    /// dropped, which should be soon.
    ///
    /// Meanwhile this core may read memory that such operations free. Jobs, cores that are not
    /// workers, and interrupt handlers may all call this. In the words of others: a read-side
    /// critical section of RCU, or a pin of an epoch.
    ///
    /// # Examples
    /// ```
    /// use pool_spin::{Cores, SpinPool, host::Host};
    ///
    /// static POOL: SpinPool<Cores<Host, 2, 64>> = SpinPool::new();
    ///
    /// let delay = POOL.delay();
    /// // ... reads a table that a worker may be replacing ...
    /// drop(delay);
    /// ```
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
        if f.alternate() {
            return write!(f, "{self:?}\n{}", self.metrics());
        }
        f.debug_struct("SpinPool")
            .field("registry", &self.registry)
            .finish()
    }
}
