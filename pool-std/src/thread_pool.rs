//! A pool of worker threads, as its owner sees it.

pub(crate) mod active;
pub(crate) mod builder;
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) mod crowd;
pub(crate) mod data;
mod end;
pub(crate) mod environment;
pub(crate) mod error;
mod facts;
pub(crate) mod global;
pub(crate) mod guard;
pub(crate) mod guests;
pub(crate) mod handle;
pub(crate) mod id;
pub(crate) mod idle;
mod processors;
pub(crate) mod spares;
mod visit;

use std::{fmt, sync::Arc};

use crate::{
    api::{
        broadcast::{self, BroadcastContext},
        scope::{self, Scope, ScopeFifo},
        spawn,
        yielding::Yield,
    },
    platform::{Registry, WorkerThread},
    progress::Progress,
    thread_pool::{error::ActiveWorkersError, guests::Caller, handle::PoolHandle, id::PoolId},
    worker::job::current_worker_of,
};

/// A pool of worker threads.
///
/// Created by [`ThreadPoolBuilder`](crate::ThreadPoolBuilder). A pool that is dropped finishes what
/// was spawned and ends, but the drop does not wait for that. A process that returns from `main`
/// meanwhile ends the workers, and jobs are lost. [`shutdown`](Self::shutdown),
/// [`shutdown_timeout`](Self::shutdown_timeout) and [`wait_idle`](Self::wait_idle) wait.
///
/// # Examples
/// ```
/// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
/// let sum: u32 = pool.install(|| {
///     let (a, b) = pool_std::join(|| 1, || 2);
///     a + b
/// });
/// assert_eq!(sum, 3);
/// # Ok::<(), pool_std::BuildError>(())
/// ```
pub struct ThreadPool {
    registry: Arc<Registry>,
}

impl ThreadPool {
    /// Runs a closure on one of the workers and waits for it. `join`, `scope` and the other free
    /// functions use this pool inside the closure.
    ///
    /// A worker of another pool runs jobs of that pool while it waits.
    ///
    /// # Panics
    /// Continues the closure's panic.
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let workers = pool.install(|| {
    ///     assert!(pool_std::current_thread_index().is_some());
    ///     pool_std::current_num_threads()
    /// });
    /// assert_eq!(workers, 2);
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    pub fn install<F, R>(&self, closure: F) -> R
    where
        F: FnOnce() -> R + Send,
        R: Send,
    {
        self.in_worker(|_, _| closure())
    }

    /// Runs a closure on the calling thread, as a worker of this pool. `join`, `scope` and the other free
    /// functions use this pool inside the closure, and other workers steal from it at once.
    ///
    /// Unlike [`install`](Self::install) this neither passes the closure to another thread nor
    /// wakes one: the caller takes the place of a worker that sleeps between jobs, and that
    /// worker's thread sleeps on. So the number of threads that run jobs never exceeds the number
    /// of workers. The closure is installed instead if all workers are awake, if the caller is a
    /// worker of another pool, or if the pool [has no guests](crate::ThreadPoolBuilder::guests). On
    /// a worker of this pool the closure runs at once.
    ///
    /// # What the closure finds
    ///
    /// - It is on its caller's thread, with that thread's stack and thread-locals, or else on a thread of the
    ///   pool. Do not rely on either.
    /// - It is a worker: [`current_thread_index`](crate::current_thread_index) is the number of the worker whose
    ///   place it has. A start handler was called for that worker, but on that worker's own thread.
    /// - In its joins and scopes it runs other jobs of the pool, as every worker does. So do not
    ///   hold a lock that jobs of the pool take while you make the call.
    /// - While it runs, what only this worker may run waits: its job of a broadcast, unless the
    ///   closure waits for other jobs and runs it, and the worker's [request to
    ///   park](Self::set_active_workers). A closure that blocks for a long time delays them. It
    ///   should call [`block_in_place`](crate::block_in_place()), or be [installed](Self::install)
    ///   by a thread that can wait.
    /// - The [metrics](Self::metrics) count for that worker what the closure does. Its time counts as asleep
    ///   until it first searches for jobs, because a look at the clock costs as much as a short call.
    ///
    /// Jobs that the closure has spawned are left to the pool when it ends. A process that calls
    /// [`exit`](std::process::exit) in the closure ends, as it does in a job. The child of a process
    /// that forks has none of the pool's threads, so it must not use the pool, neither by a call nor otherwise.
    ///
    /// # Panics
    /// Continues the closure's panic, when the worker has its place back.
    ///
    /// # Complexity
    /// Without a thread that must be woken: three looks at each worker, and no system call. About a hundred
    /// nanoseconds, and up to some microseconds if other workers have begun to run jobs since the last call.
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let numbers: Vec<u64> = (0..1000).collect();
    /// let (left, right) = numbers.split_at(500);
    /// let sums = pool.call(|| pool_std::join(|| left.iter().sum::<u64>(), || right.iter().sum::<u64>()));
    /// assert_eq!(sums.0 + sums.1, 499_500);
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    ///
    /// Source: the "call" of the project's fourth draft; Chili and Cilk run a caller's thread as a worker too.
    #[doc(alias = "install")]
    #[doc(alias = "guest")]
    pub fn call<F, R>(&self, closure: F) -> R
    where
        F: FnOnce() -> R + Send,
        R: Send,
    {
        if self.registry.data().guests.are_for(Caller::Own) {
            let visit = self.visit();
            self.registry.call(|_, _| {
                let _visit = visit;
                closure()
            })
        } else {
            self.install(closure)
        }
    }

    /// Returns the pool's thread progress: to read without locks, in jobs and outside the pool, what
    /// other threads replace and free. See the module [`progress`](crate::progress).
    #[must_use]
    pub fn progress(&self) -> Progress {
        Progress::of(&self.registry)
    }

    /// Returns what tells this pool from others in debug output.
    #[must_use]
    pub fn id(&self) -> impl fmt::Debug {
        PoolId::of(&self.registry)
    }

    /// Returns a name of this pool that does not keep it running. For the facades in `compat` only.
    #[doc(hidden)]
    #[must_use]
    pub fn handle(&self) -> PoolHandle {
        PoolHandle::of(&self.registry)
    }

    pub(crate) fn registry(&self) -> &Registry {
        &self.registry
    }

    pub(crate) fn in_worker<R: Send>(
        &self,
        closure: impl FnOnce(&WorkerThread, bool) -> R + Send,
    ) -> R {
        let visit = self.visit();
        self.registry.in_worker(|worker, migrated| {
            let _visit = visit;
            closure(worker, migrated)
        })
    }

    /// Runs two closures as [`join`](crate::join()) does, on this pool.
    ///
    /// # Panics
    /// As [`join`](crate::join()).
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let (sum, product) = pool.join(|| 2 + 3, || 2 * 3);
    /// assert_eq!((sum, product), (5, 6));
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    pub fn join<A, B, RA, RB>(&self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        self.in_worker(|worker, migrated| worker.join_context(|_| a(), |_| b(), migrated))
    }

    /// Runs a scope as [`scope`](crate::scope()) does, on this pool.
    ///
    /// # Panics
    /// As [`scope`](crate::scope()).
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let mut words = ["a", "b"].map(str::to_owned);
    /// pool.scope(|scope| {
    ///     for word in &mut words {
    ///         scope.spawn(|_| word.push('!'));
    ///     }
    /// });
    /// assert_eq!(words, ["a!", "b!"]);
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    pub fn scope<'scope, F, R>(&self, body: F) -> R
    where
        F: FnOnce(&Scope<'scope>) -> R + Send,
        R: Send,
    {
        self.install(|| scope::scope(body))
    }

    /// Runs a scope as [`scope_fifo`](crate::scope_fifo) does, on this pool.
    pub fn scope_fifo<'scope, F, R>(&self, body: F) -> R
    where
        F: FnOnce(&ScopeFifo<'scope>) -> R + Send,
        R: Send,
    {
        self.install(|| scope::scope_fifo(body))
    }

    /// Runs a scope as [`in_place_scope`](crate::in_place_scope) does; its jobs run on this pool.
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// // The body runs here, so it may use what is not `Send`.
    /// let count = std::rc::Rc::new(3);
    /// let sum = std::sync::atomic::AtomicUsize::new(0);
    /// pool.in_place_scope(|scope| {
    ///     for number in 0..*count {
    ///         let sum = &sum;
    ///         scope.spawn(move |_| _ = sum.fetch_add(number, std::sync::atomic::Ordering::Relaxed));
    ///     }
    /// });
    /// assert_eq!(sum.into_inner(), 3);
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    pub fn in_place_scope<'scope, F, R>(&self, body: F) -> R
    where
        F: FnOnce(&Scope<'scope>) -> R,
    {
        self.while_visiting(|registry| scope::in_place_scope_on(registry, body))
    }

    /// Runs a scope as [`in_place_scope_fifo`](crate::in_place_scope_fifo) does; its jobs run on this
    /// pool.
    pub fn in_place_scope_fifo<'scope, F, R>(&self, body: F) -> R
    where
        F: FnOnce(&ScopeFifo<'scope>) -> R,
    {
        self.while_visiting(|registry| scope::in_place_scope_fifo_on(registry, body))
    }

    /// Spawns a job as [`spawn`](crate::spawn()) does, on this pool.
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// pool.spawn(move || sender.send("done").unwrap());
    /// assert_eq!(receiver.recv(), Ok("done"));
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    pub fn spawn<F>(&self, job: F)
    where
        F: FnOnce() + Send + 'static,
    {
        self.add_reference();
        spawn::spawn_on(&self.registry, job);
    }

    /// Spawns jobs as [`spawn_many`](crate::spawn_many) does, on this pool.
    ///
    /// # Panics
    /// As [`spawn_many`](crate::spawn_many).
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// pool.spawn_many((0..10).map(|number| {
    ///     let sender = sender.clone();
    ///     move || sender.send(number).unwrap()
    /// }));
    /// drop(sender);
    /// assert_eq!(receiver.iter().sum::<u32>(), 45);
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    pub fn spawn_many<I>(&self, jobs: I)
    where
        I: IntoIterator<Item: FnOnce() + Send + 'static>,
    {
        self.while_visiting(|registry| spawn::spawn_many_on(registry, jobs));
    }

    /// Spawns a job as [`spawn_fifo`](crate::spawn_fifo) does, on this pool.
    pub fn spawn_fifo<F>(&self, job: F)
    where
        F: FnOnce() + Send + 'static,
    {
        self.add_reference();
        spawn::spawn_fifo_on(&self.registry, job);
    }

    /// Runs a closure on each worker as [`broadcast`](crate::broadcast()) does, on this pool.
    ///
    /// # Panics
    /// As [`broadcast`](crate::broadcast()).
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let squares = pool.broadcast(|context| context.index() * context.index());
    /// assert_eq!(squares, [0, 1]);
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    pub fn broadcast<F, R>(&self, job: F) -> Vec<R>
    where
        F: Fn(BroadcastContext<'_>) -> R + Sync,
        R: Send,
    {
        let visit = self.visit_each();
        broadcast::broadcast_on(&self.registry, |context| {
            let _visit = visit();
            job(context)
        })
    }

    /// Spawns a job on each worker as [`spawn_broadcast`](crate::spawn_broadcast) does, on this pool.
    pub fn spawn_broadcast<F>(&self, job: F)
    where
        F: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
    {
        let _visit = self.hold();
        broadcast::spawn_broadcast_on(&self.registry, job);
    }

    /// Sets how many workers are active, and returns how many were before. The others are parked: their
    /// threads sleep, run no jobs, and use no processor.
    ///
    /// Use it where the number of processors that a program may use changes while the program runs: under
    /// a GNU make job server, in a container with a new limit, or beside a second pool.
    ///
    /// The workers with the numbers from 0 to `count - 1` are active. A worker that is to park does
    /// so when it has ended its current job; until then it also runs other jobs in the waits of
    /// that job. The call does not wait for that. The worker leaves the jobs that it has queued to
    /// the active workers. Any thread may call this, and so may a job, even on a worker that the
    /// call parks. Of several calls at the same time the last one counts.
    ///
    /// What does not change:
    /// - Numbers: [`current_num_threads`](Self::current_num_threads) is the maximum, with which the
    ///   pool was built, and a worker keeps its [number](Self::current_thread_index).
    /// - A [broadcast](Self::broadcast) runs on every worker. It revives parked workers for its jobs
    ///   alone. So per-worker state can be set up and collected whatever the number of active workers.
    /// - Start and exit handlers are called once per thread.
    /// - The thread of [`use_current_thread`](crate::ThreadPoolBuilder::use_current_thread) is worker 0,
    ///   and is never parked.
    ///
    /// The [metrics](Self::metrics) of a parked worker say that it is absent.
    ///
    /// # Complexity
    /// Linear in the number of workers that park or are revived. Takes a lock.
    ///
    /// # Errors
    /// [`ActiveWorkersError`] if `count` is 0 or above the number of workers, or if a deadlock handler, or an
    /// acquire or release handler, calls. Then nothing changes.
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(4).build()?;
    /// assert_eq!(pool.set_active_workers(1)?, 4);
    /// assert_eq!(pool.join(|| 1, || 2), (1, 2));
    /// assert_eq!(pool.broadcast(|context| context.index()), [0, 1, 2, 3]);
    ///
    /// assert_eq!(pool.set_active_workers(4)?, 1);
    /// assert!(pool.set_active_workers(5).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_active_workers(&self, count: usize) -> Result<usize, ActiveWorkersError> {
        self.registry.data().active.set(&self.registry, count)
    }

    /// Returns how many workers are [active](Self::set_active_workers): the number that was last asked
    /// for. Workers that are to park may still be in their last jobs.
    #[must_use]
    pub fn active_workers(&self) -> usize {
        self.registry.data().active.count()
    }

    /// Whether this thread's deque holds jobs that no worker has started. None if this thread is not one
    /// of the pool's workers.
    #[must_use]
    pub fn current_thread_has_pending_tasks(&self) -> Option<bool> {
        current_worker_of(&self.registry).map(|worker| worker.has_pending_jobs())
    }

    /// Runs one job of this pool, on this worker's deque or stolen from another worker. Returns None if
    /// this thread is not one of the pool's workers.
    pub fn yield_now(&self) -> Option<Yield> {
        current_worker_of(&self.registry)?;
        crate::api::yielding::yield_now()
    }

    /// Runs one job of this worker's own deque. Returns None if this thread is not one of the pool's
    /// workers.
    pub fn yield_local(&self) -> Option<Yield> {
        current_worker_of(&self.registry)?;
        crate::api::yielding::yield_local()
    }
}
