//! A pool in a static, whose workers are cores.

use core::fmt;

use pool_core::{
    Deque, IdlePolicy, IntrusiveInjector, Order, Registry, Sleep, Slot, UnknownWorker,
    WorkerShared, WorkerThread,
    progress::{Line, Progress},
};

use crate::{
    core_local::CoreLocal as _,
    machine::{CoreParker, Machine},
    platform::Cores,
    primitive::{AtomicBool, Ordering},
};

/// A pool of `N` workers, each with room for `JOBS` queued jobs (a power of two).
///
/// Lives in a `static` and needs no initialiser and no allocator. Each core that takes part calls
/// [`run_worker`](Self::run_worker). A `join` that finds its worker's deque full runs both its
/// closures at once, so `JOBS` limits parallelism, never depth.
///
/// A panic in a job aborts.
///
/// # Examples
/// Two threads of a host in place of two cores:
/// ```
/// use std::cell::Cell;
/// use pool_spin::{CoreLocal, Machine, Pool, Spin, Worker};
///
/// thread_local!(static LOCAL: Cell<*const ()> = const { Cell::new(std::ptr::null()) });
///
/// struct HostCore;
/// // SAFETY: 1. a thread-local variable is just that; 2. there are no handlers.
/// unsafe impl CoreLocal for HostCore {
///     fn get() -> *const () { LOCAL.get() }
///     unsafe fn set(pointer: *const ()) { LOCAL.set(pointer) }
/// }
///
/// struct Host;
/// impl Machine for Host {
///     type Local = HostCore;
///     type Parker = Spin;
/// }
///
/// type Core<'a> = Worker<'a, Host, 2, 64>;
/// static POOL: Pool<Host, 2, 64> = Pool::new();
///
/// fn fib(core: Core, n: u32) -> u32 {
///     if n < 2 {
///         return n;
///     }
///     let (a, b) = core.join(|core| fib(core, n - 1), |core| fib(core, n - 2));
///     a + b
/// }
///
/// std::thread::scope(|threads| {
///     for index in 0..2 {
///         threads.spawn(move || POOL.run_worker(index).unwrap());
///     }
///     assert_eq!(POOL.install(|core| fib(core, 15)), 610);
///     POOL.end();
/// });
/// ```
pub struct Pool<M: Machine, const N: usize, const JOBS: usize> {
    registry: Registry<Cores<M, N, JOBS>>,
}

impl<M: Machine, const N: usize, const JOBS: usize> Pool<M, N, JOBS> {
    /// A pool whose idle workers behave by the default policy.
    #[must_use]
    pub const fn new() -> Self {
        Self::with_idle_policy(IdlePolicy::DEFAULT)
    }

    /// A pool whose idle workers behave by this policy.
    #[must_use]
    pub const fn with_idle_policy(policy: IdlePolicy) -> Self {
        const { assert!(N > 0, "a pool needs a worker") };
        let workers = [const {
            WorkerShared::new(
                Deque::fixed(Order::Lifo),
                IntrusiveInjector::new(),
                IntrusiveInjector::new(),
            )
        }; N];
        let slots = [const { Slot::new(M::Parker::NEW) }; N];
        let sleep = Sleep::from_array(slots, policy);
        let lines = [const { Line::new(M::Parker::NEW) }; N];
        Self {
            registry: Registry::new(
                sleep,
                workers,
                Progress::from_array(lines),
                IntrusiveInjector::new(),
                AtomicBool::new(false),
            ),
        }
    }

    /// The number of workers.
    #[must_use]
    pub const fn num_workers(&self) -> usize {
        N
    }

    /// This core becomes worker number `index` until the pool [ends](Self::end).
    ///
    /// # Errors
    /// [`RunError`] if there is no such worker, if another core is it, or if this core is a
    /// worker already.
    pub fn run_worker(&'static self, index: usize) -> Result<(), RunError> {
        if !M::Local::get().is_null() {
            return Err(RunError::AlreadyWorker);
        }
        let index = self
            .registry
            .worker(index)
            .map_err(RunError::UnknownWorker)?;
        // SAFETY: 1. a static outlives everything; 2. keeping it alive needs nothing.
        let worker =
            unsafe { WorkerThread::new(&raw const self.registry, index) }.ok_or(RunError::Taken)?;
        // SAFETY: 1. it stays in this frame until it leaves.
        unsafe { worker.enter() };
        worker.run_until_terminated();
        worker.leave();
        Ok(())
    }

    /// Runs a closure on one of the workers and waits for it, spinning: the way in for cores that
    /// are no workers. On a worker, the closure is run at once.
    pub fn install<R: Send>(
        &'static self,
        closure: impl FnOnce(Worker<'_, M, N, JOBS>) -> R + Send,
    ) -> R {
        self.registry.in_worker(|worker, _| closure(Worker(worker)))
    }

    /// Lets the workers return from [`run_worker`](Self::run_worker) when they have nothing left
    /// to do. [`install`](Self::install) nothing afterwards. A second call does nothing.
    pub fn end(&'static self) {
        // Ordering: Relaxed, it only picks one caller; what orders the end is the count.
        if !self.registry.data().swap(true, Ordering::Relaxed) {
            self.registry.remove_reference();
        }
    }
}

impl<M: Machine, const N: usize, const JOBS: usize> Default for Pool<M, N, JOBS> {
    fn default() -> Self {
        Self::new()
    }
}

impl<M: Machine, const N: usize, const JOBS: usize> fmt::Debug for Pool<M, N, JOBS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("registry", &self.registry)
            .finish()
    }
}

/// The worker that a closure runs on.
pub struct Worker<'a, M: Machine, const N: usize, const JOBS: usize>(
    &'a WorkerThread<Cores<M, N, JOBS>>,
);

impl<M: Machine, const N: usize, const JOBS: usize> Worker<'_, M, N, JOBS> {
    /// The worker's number.
    #[must_use]
    pub fn index(&self) -> usize {
        self.0.index().get()
    }

    /// Runs both closures, potentially at the same time on two cores, and returns both results.
    /// Each is given the worker that it runs on.
    pub fn join<A, B, RA, RB>(&self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce(Worker<'_, M, N, JOBS>) -> RA,
        B: FnOnce(Worker<'_, M, N, JOBS>) -> RB + Send,
        RB: Send,
    {
        self.0.join_context(
            |by| a(Worker(by.worker())),
            |by| b(Worker(by.worker())),
            false,
        )
    }
}

impl<M: Machine, const N: usize, const JOBS: usize> fmt::Debug for Worker<'_, M, N, JOBS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Worker").field(&self.index()).finish()
    }
}

/// A core could not become a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunError {
    /// The pool has no such worker.
    UnknownWorker(UnknownWorker),
    /// Another core is this worker.
    Taken,
    /// This core is a worker already.
    AlreadyWorker,
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownWorker(error) => error.fmt(f),
            Self::Taken => f.write_str("another core is this worker"),
            Self::AlreadyWorker => f.write_str("this core is a worker already"),
        }
    }
}

impl core::error::Error for RunError {}
