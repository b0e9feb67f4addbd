//! The settings of the threads: how they start, exit, search and sleep.

use std::{any::Any, io};

use pool_core::IdlePolicy;

use super::ThreadPoolBuilder;
use crate::{
    parker::ParkerKind,
    thread_pool::error::BuildError,
    worker::{spawn::CustomSpawn, thread::ThreadBuilder},
};

/// The stack that a worker needs, without that of its jobs.
const MIN_STACK_SIZE: usize = 16 * 1024;

/// No system grants a larger stack than a quarter of the address space. Refusing it here keeps
/// later arithmetic from overflowing.
const MAX_STACK_SIZE: usize = usize::MAX / 4;

impl<S> ThreadPoolBuilder<S> {
    /// Sets the size of each worker's stack in bytes, at least 16 KiB. The default is the standard
    /// library's. A [spawn handler](Self::spawn_handler) receives the size and need not obey it.
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
        self.settings.stack_size = Some(stack_size);
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
        self.settings.handlers.start = Some(Box::new(handler));
        self
    }

    /// Sets a closure that each worker's thread calls after its last job, with its number.
    ///
    /// # Examples
    /// ```
    /// use std::sync::{Arc, atomic::{AtomicUsize, Ordering}};
    ///
    /// let ended = Arc::new(AtomicUsize::new(0));
    /// let count = ended.clone();
    /// let pool = pool_std::ThreadPoolBuilder::new()
    ///     .num_threads(2)
    ///     .exit_handler(move |_worker| _ = count.fetch_add(1, Ordering::Relaxed))
    ///     .build()?;
    /// pool.shutdown().expect("this thread is outside the pool");
    /// assert_eq!(ended.load(Ordering::Relaxed), 2);
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    #[must_use]
    pub fn exit_handler<F>(mut self, handler: F) -> Self
    where
        F: Fn(usize) + Send + Sync + 'static,
    {
        self.settings.handlers.exit = Some(Box::new(handler));
        self
    }

    /// Sets a closure that receives panics that no caller waits for: those of spawned jobs, of the
    /// start and exit handlers, of [deferred](crate::progress::Progress::defer) closures, and of
    /// wakers and drops that a worker calls for a job with a handle. Without it, such a panic
    /// aborts the process, and so does a panic in the closure itself.
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
        self.settings.handlers.panic = Some(Box::new(handler));
        self
    }

    /// Makes the thread that builds the pool its worker 0, until that thread exits.
    ///
    /// The thread runs jobs only while it waits: in `install`, `join`, a scope, `shutdown`. So a
    /// spawned job may wait for a long time in a pool that has no other worker, and so may a
    /// broadcast, because only this thread may run one of its jobs. A
    /// [`shutdown`](crate::ThreadPool::shutdown) by another thread waits for these jobs. A thread
    /// can be adopted only once, and must not exit before the last use of the pool.
    ///
    /// A thread that exits, or calls [`exit`](std::process::exit), runs no more jobs; it leaves
    /// those on its deque to the other workers. If there are none, a shutdown waits for the jobs
    /// forever. The memory of the worker and the pool is then never freed, because frames may still
    /// be using it. The stacks of the pool's own threads are freed when the pool ends. A
    /// [`shutdown`](crate::ThreadPool::shutdown) that begins after that does not wait for
    /// destructors of thread-local variables on these threads.
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
        self.settings.use_current_thread = true;
        self
    }

    /// Starts the threads when the pool is first used, instead of when it is built.
    ///
    /// This is for programs that build a pool early and may not need it. The build still checks
    /// every setting, and calls the closure that names the threads. If the system refuses a thread,
    /// the first use panics; [`start_threads`](crate::ThreadPool::start_threads) returns an error
    /// instead.
    ///
    /// It has no effect on a pool with a [spawn handler](Self::spawn_handler), with a
    /// [driver](Self::driver), or with [the current thread](Self::use_current_thread) as a worker,
    /// nor on a [seeded](Self::seeded) pool, or one that [follows the
    /// processors](Self::follow_processors).
    ///
    /// # Examples
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    ///
    /// static THREADS: AtomicUsize = AtomicUsize::new(0);
    ///
    /// pool_std::ThreadPoolBuilder::new()
    ///     .num_threads(4)
    ///     .start_handler(|_| _ = THREADS.fetch_add(1, Ordering::Relaxed))
    ///     .lazy_threads()
    ///     .build_global()?;
    /// assert_eq!(pool_std::current_num_threads(), 4);
    /// assert_eq!(THREADS.load(Ordering::Relaxed), 0);
    ///
    /// assert_eq!(pool_std::broadcast(|_| ()).len(), 4);
    /// assert_eq!(THREADS.load(Ordering::Relaxed), 4);
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    #[must_use]
    pub fn lazy_threads(mut self) -> Self {
        self.settings.lazy_threads = true;
        self
    }

    /// Pins each worker's thread to a processor: worker 0 to the first processor that the building
    /// thread may use, and so on, wrapping around if there are more workers than processors.
    ///
    /// This is for pools whose workers benefit from warm caches, on machines that run little else.
    /// Next to other threads it costs more than it gains, because a pinned thread waits for its
    /// processor while others are idle.
    ///
    /// [Guests](Self::guests), [the current thread](Self::use_current_thread) and spare threads are
    /// not pinned, nor are threads of other pools and of drivers that a worker starts. But a thread
    /// that a job starts by itself inherits the processor of its worker on Linux. The [start
    /// handler](Self::start_handler) is called later, and may pin the thread elsewhere. If the
    /// system refuses to pin a thread, the thread stays unpinned.
    ///
    /// Requires the feature `pinning`.
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new().pin_workers().build()?;
    /// assert_eq!(pool.join(|| 1, || 2), (1, 2));
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    #[cfg(feature = "pinning")]
    #[must_use]
    pub fn pin_workers(mut self) -> Self {
        self.settings.pin_workers = true;
        self
    }

    /// Makes workers take their own jobs oldest first instead of newest first. Such a pool has no
    /// [guests](Self::guests), and does not [isolate](Self::isolation) waits.
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).breadth_first().build()?;
    /// // Older jobs of a worker are run before newer ones.
    /// pool.scope(|scope| (0..10).for_each(|_| scope.spawn(|_| ())));
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    #[must_use]
    pub fn breadth_first(mut self) -> Self {
        self.settings.is_breadth_first = true;
        self
    }

    /// Sets how long idle workers search before they sleep, and how many of them search at once.
    ///
    /// Without this call, the environment variable `POOL_STD_IDLE` is used if it is set and not
    /// empty: `balanced`, `latency`, `power` or `immediate`, the presets of [`IdlePolicy`].
    /// Otherwise it is [`BALANCED`](IdlePolicy::BALANCED). For any other value, building the pool
    /// returns an [error](crate::BuildError::EnvironmentVariable).
    ///
    /// Every policy is applied [for the processors](IdlePolicy::for_processors) that this process
    /// may use: no worker spins if there is only one.
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
        self.settings.idle_policy = Some(policy);
        self
    }

    /// Sets how idle workers sleep. The default suits the system.
    ///
    /// # Examples
    /// ```
    /// use pool_std::{ParkerKind, ThreadPoolBuilder};
    ///
    /// let pool = ThreadPoolBuilder::new().num_threads(2).parker(ParkerKind::Condvar).build()?;
    /// assert_eq!(pool.install(|| 1 + 1), 2);
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    #[must_use]
    pub fn parker(mut self, kind: ParkerKind) -> Self {
        self.settings.parker = kind;
        self
    }

    /// Starts the threads with a closure instead of the standard library: to pin them, to scope
    /// them, or to take them from elsewhere.
    ///
    /// For each worker, the closure must start a thread that calls [`ThreadBuilder::run`], now or
    /// later, or return an error. If a [`ThreadBuilder`] is dropped unrun, building the pool also
    /// returns an error. After an error, threads that have not started yet only call their
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
            settings: self.settings,
            spawn: CustomSpawn(handler),
        }
    }
}

/// Checks the size of a stack before threads of the standard library are started with it.
///
/// # Errors
/// If it is too small for a worker, or larger than any system grants.
pub(super) fn check_stack_size(requested: usize) -> Result<(), BuildError> {
    if requested < MIN_STACK_SIZE {
        return Err(BuildError::StackTooSmall {
            requested,
            minimum: MIN_STACK_SIZE,
        });
    }
    if requested > MAX_STACK_SIZE {
        return Err(BuildError::Spawn {
            index: 0,
            source: io::Error::new(io::ErrorKind::OutOfMemory, "the stack is too large"),
        });
    }
    Ok(())
}
