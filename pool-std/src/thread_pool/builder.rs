//! The settings of a pool, and how its threads start.

mod blocking;
mod build;
mod elastic;
mod guests;
#[cfg(all(feature = "io-uring", target_os = "linux", target_pointer_width = "64"))]
mod operations;
mod sleep;

use std::{any::Any, fmt, io, sync::Arc};

use deque_core::{Deque, Order};
use pool_core::{
    IdlePolicy, WorkerShared,
    progress::{Participant, Progress},
};

use crate::{
    blocking::{
        deadlock::{Reporter, accounting},
        handlers::DeadlockHandler,
        sections::Sections,
    },
    fence::ProcessBarrier,
    parker::{OsParker, ParkerKind},
    platform::{Queue, Registry, WorkerObserver},
    sleep::SleepKind,
    thread_pool::{
        active::ActiveWorkers,
        data::PoolData,
        environment::{self, default_num_threads},
        error::BuildError,
    },
    worker::{
        adopted,
        thread::{CustomSpawn, DefaultSpawn, Role, ThreadBuilder, ThreadSpawn},
    },
};

/// The greatest number that the counters of `sleep-core` can hold on this target.
pub(crate) const MAX_THREADS: usize = if cfg!(target_has_atomic = "64") {
    u16::MAX as usize
} else {
    u8::MAX as usize
};

/// Sets up and builds a [`ThreadPool`](crate::ThreadPool) or the global pool.
///
/// Environment variables set what the program does not. The page "Environment variables" of the
/// book, `docs/src/environment.md`, has all of them in one table.
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
    active_workers: Option<usize>,
    max_blocking_threads: usize,
    stack_size: Option<usize>,
    use_current_thread: bool,
    order: Order,
    sleep: Option<SleepKind>,
    overlook_no_jobs: Option<bool>,
    guests: bool,
    facade_guests: Option<bool>,
    idle_policy: Option<IdlePolicy>,
    parker: ParkerKind,
    thread_name: Option<Box<dyn FnMut(usize) -> String>>,
    deadlock_handler: Option<Box<DeadlockHandler>>,
    data: PoolData,
    spawn: S,
}

impl ThreadPoolBuilder {
    /// Creates a builder with the defaults: one worker per processor that this process may use.
    #[must_use]
    pub fn new() -> Self {
        Self {
            num_threads: 0,
            active_workers: None,
            max_blocking_threads: 0,
            stack_size: None,
            use_current_thread: false,
            order: Order::Lifo,
            sleep: None,
            overlook_no_jobs: None,
            guests: true,
            facade_guests: None,
            idle_policy: None,
            parker: ParkerKind::default(),
            thread_name: None,
            deadlock_handler: None,
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
    /// Sets the number of workers. With 0, the default, the environment variable
    /// `POOL_STD_NUM_THREADS` is used if it is set and not empty. A value that is no number, or
    /// more than [`max_num_threads`], is an [error](BuildError::EnvironmentVariable) of the build.
    ///
    /// Without that variable, rayon's variables `RAYON_NUM_THREADS` and `RAYON_RS_NUM_CPUS` are
    /// read as rayon reads them, which ignores what is no number. Otherwise, and if the number is
    /// 0, there is one worker per processor that this process may use.
    ///
    /// [`max_num_threads`]: crate::max_num_threads
    #[must_use]
    pub fn num_threads(mut self, num_threads: usize) -> Self {
        self.num_threads = num_threads;
        self
    }

    /// Sets the size of each worker's stack in bytes, at least 16 KiB. The default is the standard
    /// library's. A [spawn handler](Self::spawn_handler) is told the size and need not obey it.
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new()
    ///     .stack_size(64 * 1024 * 1024)
    ///     .build()?;
    ///
    /// fn depth(levels: u32) -> u32 {
    ///     if levels == 0 { 0 } else { 1 + std::hint::black_box(depth(levels - 1)) }
    /// }
    /// assert_eq!(pool.install(|| depth(100_000)), 100_000);
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    #[must_use]
    pub fn stack_size(mut self, stack_size: usize) -> Self {
        self.stack_size = Some(stack_size);
        self
    }

    /// Names the threads: calls a closure with the number of each worker. A name with a NUL in it
    /// is an [error](BuildError::ThreadName) of the build.
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new()
    ///     .num_threads(1)
    ///     .thread_name(|index| format!("worker-{index}"))
    ///     .build()?;
    /// let name = pool.install(|| std::thread::current().name().map(str::to_owned));
    /// assert_eq!(name.as_deref(), Some("worker-0"));
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    #[must_use]
    pub fn thread_name<F>(mut self, name: F) -> Self
    where
        F: FnMut(usize) -> String + 'static,
    {
        self.thread_name = Some(Box::new(name));
        self
    }

    /// Sets a closure that each worker's thread calls before its first job, with its number.
    ///
    /// # Examples
    /// ```
    /// use std::cell::Cell;
    ///
    /// thread_local!(static SEED: Cell<usize> = const { Cell::new(0) });
    ///
    /// let pool = pool_std::ThreadPoolBuilder::new()
    ///     .start_handler(|index| SEED.set(index + 100))
    ///     .num_threads(2)
    ///     .build()?;
    /// assert_eq!(pool.broadcast(|_| SEED.get()), [100, 101]);
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    #[must_use]
    pub fn start_handler<F>(mut self, handler: F) -> Self
    where
        F: Fn(usize) + Send + Sync + 'static,
    {
        self.data.start_handler = Some(Box::new(handler));
        self
    }

    /// Sets a closure that each worker's thread calls after its last job, with its number.
    #[must_use]
    pub fn exit_handler<F>(mut self, handler: F) -> Self
    where
        F: Fn(usize) + Send + Sync + 'static,
    {
        self.data.exit_handler = Some(Box::new(handler));
        self
    }

    /// Sets a closure that gets the panics for which no caller waits: of spawned jobs and of the start
    /// and exit handlers. Without it, such a panic aborts the process.
    ///
    /// # Examples
    /// ```
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// let sender = std::sync::Mutex::new(sender);
    /// let pool = pool_std::ThreadPoolBuilder::new()
    ///     .panic_handler(move |panic| sender.lock().unwrap().send(panic).unwrap())
    ///     .build()?;
    /// pool.spawn(|| panic!("for the handler"));
    /// let panic = receiver.recv().unwrap();
    /// assert_eq!(panic.downcast_ref(), Some(&"for the handler"));
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
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
    /// The thread runs jobs only while it waits: in `install`, `join`, a scope, `shutdown`. So a
    /// spawned job may wait for a long time in a pool that has no other worker, and so may a
    /// broadcast, one of whose jobs only this thread may run. A thread can be adopted once, and
    /// must not end before the last use of the pool.
    ///
    /// A thread that ends, or calls [`exit`](std::process::exit), runs no more jobs; it leaves those on
    /// its deque to the other workers, if there are any. The memory of the worker and the pool is never
    /// freed then, because frames may still be using it.
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new()
    ///     .num_threads(1)
    ///     .use_current_thread()
    ///     .build()?;
    /// let here = std::thread::current().id();
    /// assert_eq!(pool.install(|| std::thread::current().id()), here);
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    #[must_use]
    pub fn use_current_thread(mut self) -> Self {
        self.use_current_thread = true;
        self
    }

    /// Makes workers take their own jobs oldest first instead of newest first.
    #[must_use]
    pub fn breadth_first(mut self) -> Self {
        self.order = Order::Fifo;
        self
    }

    /// Sets how long idle workers search before they sleep, and how many of them do so at a time.
    ///
    /// Without this call, the environment variable `POOL_STD_IDLE` is used if it is set and not
    /// empty: `balanced`, `latency`, `power` or `immediate`, the presets of [`IdlePolicy`].
    /// Otherwise it is [`BALANCED`](IdlePolicy::BALANCED). Any other value is an
    /// [error](BuildError::EnvironmentVariable) of the build.
    ///
    /// Whatever the policy, it is applied [for the processors](IdlePolicy::for_processors) that
    /// this process may use: no worker spins if there is only one.
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new()
    ///     .idle_policy(pool_std::IdlePolicy::IMMEDIATE)
    ///     .build()?;
    /// assert_eq!(pool.join(|| 1, || 2), (1, 2));
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    #[must_use]
    pub fn idle_policy(mut self, policy: IdlePolicy) -> Self {
        self.idle_policy = Some(policy);
        self
    }

    /// Sets how idle workers sleep. The default suits the system.
    #[must_use]
    pub fn parker(mut self, kind: ParkerKind) -> Self {
        self.parker = kind;
        self
    }

    /// Starts the threads with a closure instead of the standard library: to pin them, to scope them, or
    /// to take them from elsewhere.
    ///
    /// For each worker, the closure must start a thread that calls [`ThreadBuilder::run`], now or
    /// later, or return an error. A [`ThreadBuilder`] that is dropped unrun is an error of the
    /// build, too. After an error, threads that have not started yet only call their
    /// [start](Self::start_handler) and [exit](Self::exit_handler) handlers in
    /// [`run`](ThreadBuilder::run).
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new()
    ///     .num_threads(2)
    ///     .spawn_handler(|thread| {
    ///         std::thread::Builder::new()
    ///             .name(format!("mine-{}", thread.index()))
    ///             .spawn(|| thread.run())
    ///             .map(drop)
    ///     })
    ///     .build()?;
    /// let name = pool.install(|| std::thread::current().name().map(str::to_owned));
    /// assert!(name.unwrap().starts_with("mine-"));
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    #[must_use]
    pub fn spawn_handler<F>(self, handler: F) -> ThreadPoolBuilder<CustomSpawn<F>>
    where
        F: FnMut(ThreadBuilder) -> io::Result<()>,
    {
        ThreadPoolBuilder {
            num_threads: self.num_threads,
            active_workers: self.active_workers,
            max_blocking_threads: self.max_blocking_threads,
            stack_size: self.stack_size,
            use_current_thread: self.use_current_thread,
            order: self.order,
            sleep: self.sleep,
            overlook_no_jobs: self.overlook_no_jobs,
            guests: self.guests,
            facade_guests: self.facade_guests,
            idle_policy: self.idle_policy,
            parker: self.parker,
            thread_name: self.thread_name,
            deadlock_handler: self.deadlock_handler,
            data: self.data,
            spawn: CustomSpawn(handler),
        }
    }
}

impl<S: ThreadSpawn> ThreadPoolBuilder<S> {
    /// Starts a pool. The caller owns its only reference.
    pub(crate) fn start(mut self) -> Result<Arc<Registry>, BuildError> {
        let num_threads = self.checked_num_threads()?;
        self.check_stack_size()?;
        let registry = self.registry(num_threads)?;
        if self.use_current_thread {
            adopted::adopt(&registry)?;
        }
        let unfinished = Unfinished(&registry);
        // Before the workers, whose start handlers may begin operations already.
        #[cfg(all(feature = "io-uring", target_os = "linux", target_pointer_width = "64"))]
        registry.data().io.start_chosen(&registry)?;
        for index in usize::from(self.use_current_thread)..num_threads {
            self.start_thread(&registry, index)?;
        }
        self.start_spares(&registry)?;
        registry.data().finish_build().map_err(|index| {
            let source = io::Error::other("it was dropped before it ran");
            BuildError::Spawn { index, source }
        })?;
        std::mem::forget(unfinished);
        Ok(registry)
    }

    fn checked_num_threads(&self) -> Result<usize, BuildError> {
        let requested = if self.num_threads > 0 {
            self.num_threads
        } else {
            default_num_threads()?
        };
        for number in [requested, self.max_blocking_threads] {
            if number > MAX_THREADS {
                return Err(BuildError::TooManyThreads {
                    requested: number,
                    maximum: MAX_THREADS,
                });
            }
        }
        Ok(requested)
    }

    pub(crate) fn check_stack_size(&self) -> Result<(), BuildError> {
        self.stack_size
            .map_or(Ok(()), |size| self.spawn.check_stack_size(size))
    }

    fn registry(&mut self, num_threads: usize) -> Result<Arc<Registry>, BuildError> {
        #[cfg(all(feature = "io-uring", target_os = "linux", target_pointer_width = "64"))]
        self.data.io.prepare(num_threads)?;
        let overlooks_no_jobs = self.prepare_fences()?;
        let processors = environment::num_processors();
        #[cfg(any(target_os = "linux", target_os = "android"))]
        if !overlooks_no_jobs {
            self.data.crowd = self.crowd(num_threads, processors);
        }
        let sleep = self.sleep_protocol(num_threads, processors)?;
        let guests = self.chosen_guests(sleep.kind())?;
        let deque = || Deque::growable(self.order).with_process_fence::<ProcessBarrier>();
        let workers: Box<[_]> = (0..num_threads)
            .map(|_| WorkerShared::new(deque(), Queue::new(), Queue::new(), WorkerObserver::new()))
            .collect();
        let participants = (0..num_threads).map(|_| Participant::new(OsParker::new(self.parker)));
        let progress = Progress::new(participants.collect());
        let mut data = std::mem::take(&mut self.data);
        let active = self.active_workers.unwrap_or(num_threads);
        data.active = ActiveWorkers::new(active, num_threads).map_err(BuildError::ActiveWorkers)?;
        data.spares = self.spares(num_threads)?;
        data.overlooks_no_jobs = overlooks_no_jobs;
        data.guests = guests;
        data.sections = Sections::new(num_threads);
        let handler = self.deadlock_handler.take();
        Ok(Arc::new_cyclic(|registry| {
            let deadlock = accounting(num_threads, Reporter::new(handler, registry));
            #[cfg(any(target_os = "linux", target_os = "android"))]
            if let Some(crowd) = &data.crowd {
                crowd.set_registry(registry);
            }
            Registry::new(sleep, workers, progress, Queue::new(), deadlock, data)
        }))
    }

    fn start_thread(&mut self, registry: &Arc<Registry>, index: usize) -> Result<(), BuildError> {
        let name = self.name_of(index)?;
        let worker = registry.worker(index).expect("counted");
        let thread = ThreadBuilder::new(registry, Role::Worker(worker), name, self.stack_size);
        let result = self.spawn.spawn(thread);
        result.map_err(|source| BuildError::Spawn { index, source })
    }

    /// Returns the name of a thread, if the threads have names.
    fn name_of(&mut self, index: usize) -> Result<Option<String>, BuildError> {
        match self.thread_name.as_mut().map(|name| name(index)) {
            // The standard library would panic when the thread is started.
            Some(name) if name.contains('\0') => Err(BuildError::ThreadName { index, name }),
            name => Ok(name),
        }
    }
}

/// A pool that is being built.
///
/// If that fails, or a closure of the user panics, the drop tells the threads that were started to end.
/// It does not wait for them: a handler may wait for a worker that is never started, and a spawn
/// handler may start threads later.
struct Unfinished<'a>(&'a Arc<Registry>);

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        self.0.remove_reference();
        adopted::release(self.0);
    }
}

impl<S> fmt::Debug for ThreadPoolBuilder<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadPoolBuilder")
            .field("num_threads", &self.num_threads)
            .field("active_workers", &self.active_workers)
            .field("max_blocking_threads", &self.max_blocking_threads)
            .field("stack_size", &self.stack_size)
            .field("use_current_thread", &self.use_current_thread)
            .field("order", &self.order)
            .field("sleep", &self.sleep)
            .field("overlook_no_jobs", &self.overlook_no_jobs)
            .field("guests", &self.guests)
            .field("idle_policy", &self.idle_policy)
            .field("parker", &self.parker)
            .finish_non_exhaustive()
    }
}
