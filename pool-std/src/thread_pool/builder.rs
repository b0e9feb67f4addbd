//! How a pool is set up.

use std::{any::Any, fmt, io, sync::Arc, thread};

use deque_core::{Deque, Order};
use pool_core::{
    IdlePolicy, Jec, Slot, TooManyWorkers, WorkerShared,
    progress::{Participant, Progress},
};

use crate::{
    clock::WorkerClock,
    fence::ProcessBarrier,
    parker::{ParkerKind, StdParker},
    platform::{Queue, Registry},
    thread_pool::{
        ThreadPool, data::PoolData, environment::default_num_threads, error::BuildError, global,
    },
    worker::{
        adopted,
        thread::{CustomSpawn, DefaultSpawn, ThreadBuilder, ThreadSpawn},
    },
};

/// As many as the counters of `sleep-core` can count on this target.
pub(crate) const MAX_THREADS: usize = if cfg!(target_has_atomic = "64") {
    u16::MAX as usize
} else {
    u8::MAX as usize
};

/// Sets up a [`ThreadPool`](crate::ThreadPool), or the global one.
///
/// # Examples
/// ```
/// let pool = pool_std::ThreadPoolBuilder::new()
///     .num_threads(3)
///     .thread_name(|index| format!("worker-{index}"))
///     .build()?;
/// assert_eq!(pool.current_num_threads(), 3);
/// pool.shutdown()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ThreadPoolBuilder<S = DefaultSpawn> {
    num_threads: usize,
    stack_size: Option<usize>,
    use_current_thread: bool,
    order: Order,
    idle_policy: IdlePolicy,
    parker: ParkerKind,
    measure_time: bool,
    thread_name: Option<Box<dyn FnMut(usize) -> String>>,
    data: PoolData,
    spawn: S,
}

impl ThreadPoolBuilder {
    /// The defaults: a worker for each processor that this process may use.
    #[must_use]
    pub fn new() -> Self {
        Self {
            num_threads: 0,
            stack_size: None,
            use_current_thread: false,
            order: Order::Lifo,
            idle_policy: IdlePolicy::DEFAULT,
            parker: ParkerKind::default(),
            measure_time: false,
            thread_name: None,
            data: PoolData::default(),
            spawn: DefaultSpawn,
        }
    }
}

impl Default for ThreadPoolBuilder {
    fn default() -> Self {
        Self::new()
    }
}

impl<S> ThreadPoolBuilder<S> {
    /// The number of workers. 0, the default, means: what the environment variable
    /// `POOL_STD_NUM_THREADS` says, or else `RAYON_NUM_THREADS` or `RAYON_RS_NUM_CPUS`, if it is
    /// a positive number; otherwise one for each processor that this process may use.
    #[must_use]
    pub fn num_threads(mut self, num_threads: usize) -> Self {
        self.num_threads = num_threads;
        self
    }

    /// The size of each worker's stack in bytes, at least 16 KiB. The default is the standard
    /// library's. A [spawn handler](Self::spawn_handler) is told the size, and may do with it what
    /// it likes.
    #[must_use]
    pub fn stack_size(mut self, stack_size: usize) -> Self {
        self.stack_size = Some(stack_size);
        self
    }

    /// Names the threads; called with the worker's number.
    #[must_use]
    pub fn thread_name<F>(mut self, name: F) -> Self
    where
        F: FnMut(usize) -> String + 'static,
    {
        self.thread_name = Some(Box::new(name));
        self
    }

    /// Called on each worker's thread before its first job, with its number.
    #[must_use]
    pub fn start_handler<F>(mut self, handler: F) -> Self
    where
        F: Fn(usize) + Send + Sync + 'static,
    {
        self.data.start_handler = Some(Box::new(handler));
        self
    }

    /// Called on each worker's thread after its last job, with its number.
    #[must_use]
    pub fn exit_handler<F>(mut self, handler: F) -> Self
    where
        F: Fn(usize) + Send + Sync + 'static,
    {
        self.data.exit_handler = Some(Box::new(handler));
        self
    }

    /// Called with the panics that nobody waits for: of spawned jobs and of the handlers above.
    /// Without it, such a panic aborts the process.
    #[must_use]
    pub fn panic_handler<F>(mut self, handler: F) -> Self
    where
        F: Fn(Box<dyn Any + Send>) + Send + Sync + 'static,
    {
        self.data.panic_handler = Some(Box::new(handler));
        self
    }

    /// Makes the thread that builds the pool its worker 0, until that thread ends.
    ///
    /// It runs jobs only while it waits: in `install`, `join`, a scope, `shutdown`. So a spawned
    /// job may wait long in a pool that has no other worker, and so does a broadcast, one of whose
    /// jobs only this thread may run. A thread can do this once, and must not end before the pool
    /// is last used.
    ///
    /// When the thread ends, or calls [`exit`](std::process::exit), it runs no jobs any more: those
    /// on its queue are left to the other workers, if there are any. The worker's and the pool's
    /// memory is then kept for good, since frames may still be using it.
    #[must_use]
    pub fn use_current_thread(mut self) -> Self {
        self.use_current_thread = true;
        self
    }

    /// Workers take their own jobs oldest first instead of newest first.
    #[must_use]
    pub fn breadth_first(mut self) -> Self {
        self.order = Order::Fifo;
        self
    }

    /// How long idle workers search before they sleep.
    #[must_use]
    pub fn idle_policy(mut self, policy: IdlePolicy) -> Self {
        self.idle_policy = policy;
        self
    }

    /// How idle workers sleep. The default suits the system.
    #[must_use]
    pub fn parker(mut self, kind: ParkerKind) -> Self {
        self.parker = kind;
        self
    }

    /// Notes how long each worker is active, idle and asleep, for
    /// [`ThreadPool::worker_times`](crate::ThreadPool::worker_times). Costs a look at the clock at each change.
    #[must_use]
    pub fn measure_time(mut self, measure: bool) -> Self {
        self.measure_time = measure;
        self
    }

    /// Starts the threads with this closure instead of the standard library: to pin them, to
    /// scope them, to take them from elsewhere.
    ///
    /// For each worker it must start a thread that calls [`ThreadBuilder::run`], now or later, or
    /// return an error. If it does, [`run`](ThreadBuilder::run) returns at once on threads that have
    /// not started.
    #[must_use]
    pub fn spawn_handler<F>(self, handler: F) -> ThreadPoolBuilder<CustomSpawn<F>>
    where
        F: FnMut(ThreadBuilder) -> io::Result<()>,
    {
        ThreadPoolBuilder {
            num_threads: self.num_threads,
            stack_size: self.stack_size,
            use_current_thread: self.use_current_thread,
            order: self.order,
            idle_policy: self.idle_policy,
            parker: self.parker,
            measure_time: self.measure_time,
            thread_name: self.thread_name,
            data: self.data,
            spawn: CustomSpawn(handler),
        }
    }
}

impl<S: ThreadSpawn> ThreadPoolBuilder<S> {
    /// Builds the pool and starts its threads.
    ///
    /// # Errors
    /// [`BuildError`]. Threads that were started before one failed end then; this does not wait for
    /// them.
    pub fn build(self) -> Result<ThreadPool, BuildError> {
        self.start().map(|registry| ThreadPool { registry })
    }

    /// Builds the global pool, which threads outside every pool use. It lives until the process ends.
    ///
    /// # Errors
    /// [`BuildError`]; [`GlobalPoolAlreadyInitialized`](BuildError::GlobalPoolAlreadyInitialized)
    /// if this was called before, or if an earlier use has built the pool with the defaults.
    ///
    /// # Panics
    /// If a closure given to this builder, called on this thread, uses the global pool.
    ///
    /// # Examples
    /// ```
    /// pool_std::ThreadPoolBuilder::new().num_threads(2).build_global()?;
    /// assert_eq!(pool_std::current_num_threads(), 2);
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    pub fn build_global(self) -> Result<(), BuildError> {
        global::initialize(|| self.start())
    }

    /// Starts a pool; its one reference is the caller's.
    pub(crate) fn start(mut self) -> Result<Arc<Registry>, BuildError> {
        let num_threads = self.checked_num_threads()?;
        self.check_stack_size()?;
        let registry = self.registry(num_threads)?;
        if self.use_current_thread {
            adopted::adopt(&registry)?;
        }
        let unfinished = Unfinished(&registry);
        for index in usize::from(self.use_current_thread)..num_threads {
            self.start_thread(&registry, index)
                .map_err(|source| BuildError::Spawn { index, source })?;
        }
        std::mem::forget(unfinished);
        Ok(registry)
    }

    fn checked_num_threads(&self) -> Result<usize, BuildError> {
        let requested = if self.num_threads > 0 {
            self.num_threads
        } else {
            default_num_threads(MAX_THREADS)
        };
        if requested > MAX_THREADS {
            return Err(BuildError::TooManyThreads {
                requested,
                maximum: MAX_THREADS,
            });
        }
        Ok(requested)
    }

    pub(crate) fn check_stack_size(&self) -> Result<(), BuildError> {
        self.stack_size
            .map_or(Ok(()), |size| self.spawn.check_stack_size(size))
    }

    fn registry(&mut self, num_threads: usize) -> Result<Arc<Registry>, BuildError> {
        let clock = || self.measure_time.then(WorkerClock::new);
        let slots: Box<[_]> = (0..num_threads)
            .map(|_| Slot::new(StdParker::new(self.parker, clock())))
            .collect();
        ProcessBarrier::prepare();
        let deque = || Deque::growable(self.order).with_process_fence::<ProcessBarrier>();
        let workers: Box<[_]> = (0..num_threads)
            .map(|_| WorkerShared::new(deque(), Queue::new(), Queue::new()))
            .collect();
        let sleep = Jec::new(slots, self.idle_policy).map_err(
            |TooManyWorkers { requested, maximum }| BuildError::TooManyThreads {
                requested,
                maximum,
            },
        )?;
        let participants =
            (0..num_threads).map(|_| Participant::new(StdParker::new(self.parker, None)));
        let progress = Progress::new(participants.collect());
        let data = std::mem::take(&mut self.data);
        let registry = Registry::new(sleep, workers, progress, Queue::new(), data);
        Ok(Arc::new(registry))
    }

    fn start_thread(&mut self, registry: &Arc<Registry>, index: usize) -> io::Result<()> {
        let name = self.thread_name.as_mut().map(|name| name(index));
        let index = registry.worker(index).expect("counted");
        self.spawn
            .spawn(ThreadBuilder::new(registry, index, name, self.stack_size))
    }
}

impl ThreadPoolBuilder {
    /// Builds a pool whose threads may borrow from the caller, and ends it, with its threads,
    /// when `with_pool` returns.
    ///
    /// Each thread runs `wrapper`, which must call [`ThreadBuilder::run`]: to set up what the
    /// pool's jobs find on their thread.
    ///
    /// # Errors
    /// As [`build`](Self::build); then `with_pool` has not been called.
    ///
    /// # Panics
    /// Continues a panic of `with_pool`, when the pool has ended.
    ///
    /// # Examples
    /// ```
    /// let names = std::sync::Mutex::new(Vec::new());
    /// let sum = pool_std::ThreadPoolBuilder::new().num_threads(2).build_scoped(
    ///     |thread| {
    ///         names.lock().unwrap().push(thread.index());
    ///         thread.run();
    ///     },
    ///     |pool| pool.join(|| 1, || 2),
    /// )?;
    /// assert_eq!(sum, (1, 2));
    /// assert_eq!(names.into_inner().unwrap().len(), 2);
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    pub fn build_scoped<W, F, R>(self, wrapper: W, with_pool: F) -> Result<R, BuildError>
    where
        W: Fn(ThreadBuilder) + Sync,
        F: FnOnce(&ThreadPool) -> R,
    {
        self.check_stack_size()?;
        thread::scope(|scope| {
            let spawn = |thread: ThreadBuilder| {
                let builder = thread.standard();
                builder.spawn_scoped(scope, || wrapper(thread)).map(drop)
            };
            let pool = self.spawn_handler(spawn).build()?;
            Ok(with_pool(&pool))
        })
    }
}

/// A pool that is being built. If that fails, or a closure of the user panics: tells the threads that
/// were started to end. Does not wait for them: a handler may wait for a worker that is never
/// started, and a spawn handler may start threads later.
struct Unfinished<'a>(&'a Arc<Registry>);

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        self.0.data().abandon();
        self.0.remove_reference();
        adopted::release(self.0);
    }
}

impl<S> fmt::Debug for ThreadPoolBuilder<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadPoolBuilder")
            .field("num_threads", &self.num_threads)
            .field("stack_size", &self.stack_size)
            .field("use_current_thread", &self.use_current_thread)
            .field("order", &self.order)
            .field("idle_policy", &self.idle_policy)
            .field("parker", &self.parker)
            .field("measure_time", &self.measure_time)
            .finish_non_exhaustive()
    }
}
