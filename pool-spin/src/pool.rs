//! A pool in a `static`, whose workers are cores.

use core::fmt;

use pool_core::{
    IdlePolicy, Injectors, Jec, JobInjector, NoDeadlockDetection, Registry, Slot, WorkerThread,
    progress,
};

mod arena;
mod broadcast;
mod error;
mod lifecycle;
mod metrics;
mod observer;
mod overflow;
mod platform;
mod run;
mod scope;
mod spawn;
mod system;
mod task;
#[cfg(test)]
mod tests;
mod traced;
mod worker;

pub use arena::{Arena, CLOSURE_WORDS};
pub use error::{ReleaseError, RunError, SpawnError, SpawnErrorReason, StillRunning};
pub use metrics::PoolMetrics;
pub use run::ExitReason;
pub use scope::Scope;
#[cfg(feature = "deadlock")]
pub(crate) use system::Protocol;
pub use system::{Cores, DefaultProtocol, System};
pub use task::Task;
pub use traced::Traced;
pub use worker::Worker;

use crate::machine::{CoreParker as _, Machine};

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
/// happened. The pool holds no lock at that point. A core that waits for the job would wait
/// forever, so the handler should stop or restart the machine. (Where panics unwind, they abort.)
///
/// Interrupt handlers may call [`spawn`](Self::spawn), [`spawn_with`](Self::spawn_with),
/// [`spawn_task`](Self::spawn_task), [`wake_worker`](Self::wake_worker),
/// [`release_worker`](Self::release_worker), [`end`](Self::end), [`delay`](Self::delay),
/// [`metrics`](Self::metrics), [`worker_metrics`](Self::worker_metrics),
/// [`num_workers`](Self::num_workers), [`num_sleeping`](Self::num_sleeping) and, with their
/// features, `trace` and `blocking_state`: none of these waits for anything. With an
/// `InterruptLock`, they may also call the functions of the module `deadlock` that unblock a
/// worker. Handlers must call nothing else: they may have interrupted this core's worker in the
/// middle of an operation.
///
/// # Examples
/// ```
/// use pool_spin::{Cores, SpinPool, Worker, host::{self, Host}};
///
/// type Chip = Cores<Host, 2, 64>;
/// static POOL: SpinPool<Chip> = SpinPool::new();
///
/// fn fib(core: Worker<Chip>, n: u32) -> u32 {
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

impl<M: Machine, const CORES: usize, const JOBS: usize> SpinPool<Cores<M, CORES, JOBS>> {
    /// Creates a pool whose idle workers follow the default policy.
    #[must_use]
    pub const fn new() -> Self {
        Self::with_idle_policy(IdlePolicy::DEFAULT)
    }

    /// Creates a pool whose idle workers follow the given policy, without rounds if there is only
    /// one core ([`IdlePolicy::for_processors`]).
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
        let policy = policy.for_processors(CORES, CORES);
        Self::with_protocol(Jec::from_array(slots, policy))
    }
}

impl<S: System<Deadlock = NoDeadlockDetection>> SpinPool<S> {
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
    ///
    /// A policy that is [fixed](IdlePolicy#fixed-when-the-program-is-compiled) makes the program
    /// smaller:
    /// ```
    /// use pool_spin::{
    ///     CoreParker, Cores, IdlePolicy, Inline, Jec, Machine, Slot, SpinPool, host::Host,
    /// };
    ///
    /// type Parker = <Host as Machine>::Parker;
    ///
    /// struct Immediate;
    /// impl AsRef<IdlePolicy> for Immediate {
    ///     fn as_ref(&self) -> &IdlePolicy {
    ///         const { &IdlePolicy::IMMEDIATE }
    ///     }
    /// }
    ///
    /// type Sleep = Jec<Inline<Slot<Parker>, 2>, Immediate>;
    /// const SLOTS: [Slot<Parker>; 2] = [const { Slot::new(Parker::NEW) }; 2];
    /// static POOL: SpinPool<Cores<Host, 2, 64, Sleep>> =
    ///     SpinPool::with_protocol(Jec::from_array(SLOTS, Immediate));
    /// assert_eq!(POOL.num_workers(), 2);
    /// ```
    #[must_use]
    pub const fn with_protocol(sleep: S::Sleep) -> Self {
        Self::with_parts(sleep, NoDeadlockDetection)
    }
}

impl<S: System> SpinPool<S> {
    pub(crate) const fn with_parts(sleep: S::Sleep, deadlock: S::Deadlock) -> Self {
        const { assert!(S::CORES > 0, "a pool needs a worker") };
        let injectors = Injectors::new(JobInjector::new(), JobInjector::new(), JobInjector::new());
        Self {
            registry: Registry::new(sleep, S::WORKERS, S::PROGRESS, injectors, deadlock, S::DATA),
        }
    }

    /// Returns the number of workers that the pool has places for.
    #[must_use]
    pub const fn num_workers(&self) -> usize {
        S::CORES
    }

    pub(crate) fn registry(&self) -> &Registry<S> {
        &self.registry
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
        if lifecycle.finish_restart() {
            self.registry.remove_reference();
        }
        Ok(())
    }

    /// Delays the operations that workers have [scheduled](Worker::schedule) until the guard is
    /// dropped, which should be soon.
    ///
    /// Meanwhile this core may read memory that such operations free. Jobs, cores that are not
    /// workers, and interrupt handlers may all call this. Others call this a read-side critical
    /// section (RCU), or a pin of an epoch.
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
    #[must_use = "the delay ends when it is dropped"]
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

/// Prints one line. The alternate form adds the table of the pool's [metrics](SpinPool::metrics).
impl<S: System> fmt::Debug for SpinPool<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SpinPool {{ registry: {:?} }}", self.registry)?;
        if f.alternate() {
            write!(f, "\n{}", self.metrics())?;
        }
        Ok(())
    }
}
