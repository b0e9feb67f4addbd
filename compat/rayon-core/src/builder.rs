//! The settings of a pool. The drop-in for rustc's pool has this file too, with other [`Extras`].

use std::{any::Any, fmt, io, thread};

use pool_std::{ThreadBuilder, facade::PoolHandle, max_num_threads};

use crate::{
    error::ThreadPoolBuildError,
    extras::Extras,
    thread_pool::ThreadPool,
    thread_spawn::{CustomSpawn, DefaultSpawn, ThreadSpawn, standard},
};

/// Sets up and builds a [`ThreadPool`] or the global pool.
///
/// Stores the settings and passes them to [`pool_std::ThreadPoolBuilder`] at the end.
///
/// # Examples
/// ```
/// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(3).build()?;
/// assert_eq!(pool.install(rayon_core::current_num_threads), 3);
/// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
/// ```
pub struct ThreadPoolBuilder<S = DefaultSpawn> {
    num_threads: usize,
    pub(crate) extras: Extras,
    get_thread_name: Option<Box<dyn FnMut(usize) -> String>>,
    panic_handler: Option<Box<PanicHandler>>,
    stack_size: Option<usize>,
    start_handler: Option<Box<WorkerHandler>>,
    exit_handler: Option<Box<WorkerHandler>>,
    breadth_first: bool,
    spawn: S,
}

type PanicHandler = dyn Fn(Box<dyn Any + Send>) + Send + Sync;
type WorkerHandler = dyn Fn(usize) + Send + Sync;

impl Default for ThreadPoolBuilder {
    fn default() -> Self {
        Self {
            num_threads: 0,
            extras: Extras::default(),
            get_thread_name: None,
            panic_handler: None,
            stack_size: None,
            start_handler: None,
            exit_handler: None,
            breadth_first: false,
            spawn: DefaultSpawn,
        }
    }
}

impl ThreadPoolBuilder {
    /// Creates a builder with the defaults: one worker per processor that this process may use.
    pub fn new() -> Self {
        Self::default()
    }

    /// Builds a pool whose threads may borrow from the caller, and ends the pool and its threads when
    /// `with_pool` returns. Each thread runs `wrapper`, which must call [`ThreadBuilder::run`].
    ///
    /// # Errors
    /// As [`build`](Self::build); then `with_pool` has not been called.
    pub fn build_scoped<W, F, R>(self, wrapper: W, with_pool: F) -> Result<R, ThreadPoolBuildError>
    where
        W: Fn(ThreadBuilder) + Sync,
        F: FnOnce(&ThreadPool) -> R,
    {
        thread::scope(|scope| {
            let spawn = |thread: ThreadBuilder| {
                let builder = standard(&thread);
                builder.spawn_scoped(scope, || wrapper(thread)).map(drop)
            };
            let built = self.spawn_handler(spawn).build()?;
            let _stopped = StoppedAtEnd(built.handle());
            // Dropped before `_stopped`.
            let pool = built;
            Ok(with_pool(&pool))
        })
    }
}

impl<S> ThreadPoolBuilder<S>
where
    S: ThreadSpawn,
{
    /// Builds the pool and starts its threads.
    ///
    /// # Errors
    /// If the system or the spawn handler refuses a thread, or if this thread is to become a worker and
    /// already is one. Threads that were started end.
    pub fn build(self) -> Result<ThreadPool, ThreadPoolBuildError> {
        let (builder, mut spawn) = self.into_parts();
        let pool = builder
            .spawn_handler(|thread| spawn.spawn(thread))
            .build()
            .map_err(ThreadPoolBuildError::new)?;
        Ok(ThreadPool::new_on(pool))
    }

    /// Builds the global pool, which threads outside every pool use.
    ///
    /// # Errors
    /// As [`build`](Self::build). Also if the global pool exists, because this was called before or
    /// because an earlier use has built it.
    pub fn build_global(self) -> Result<(), ThreadPoolBuildError> {
        let (builder, mut spawn) = self.into_parts();
        let builder = builder.spawn_handler(|thread| spawn.spawn(thread));
        builder.build_global().map_err(ThreadPoolBuildError::new)
    }

    fn into_parts(self) -> (pool_std::ThreadPoolBuilder, S) {
        let builder =
            pool_std::ThreadPoolBuilder::new().num_threads(self.num_threads.min(max_num_threads()));
        let mut builder = self.extras.apply(builder);
        if let Some(name) = self.get_thread_name {
            builder = builder.thread_name(name);
        }
        if let Some(handler) = self.panic_handler {
            builder = builder.panic_handler(handler);
        }
        if let Some(size) = self.stack_size {
            builder = builder.stack_size(size);
        }
        if let Some(handler) = self.start_handler {
            builder = builder.start_handler(handler);
        }
        if let Some(handler) = self.exit_handler {
            builder = builder.exit_handler(handler);
        }
        if self.breadth_first {
            builder = builder.breadth_first();
        }
        (builder, self.spawn)
    }
}

impl<S> ThreadPoolBuilder<S> {
    /// Starts the threads with a closure. For each worker, it must start a thread that calls
    /// [`ThreadBuilder::run`], or return an error.
    pub fn spawn_handler<F>(self, spawn: F) -> ThreadPoolBuilder<CustomSpawn<F>>
    where
        F: FnMut(ThreadBuilder) -> io::Result<()>,
    {
        ThreadPoolBuilder {
            num_threads: self.num_threads,
            extras: self.extras,
            get_thread_name: self.get_thread_name,
            panic_handler: self.panic_handler,
            stack_size: self.stack_size,
            start_handler: self.start_handler,
            exit_handler: self.exit_handler,
            breadth_first: self.breadth_first,
            spawn: CustomSpawn(spawn),
        }
    }

    /// Names the threads: calls a closure with the number of each worker.
    pub fn thread_name<F>(mut self, closure: F) -> Self
    where
        F: FnMut(usize) -> String + 'static,
    {
        self.get_thread_name = Some(Box::new(closure));
        self
    }

    /// Sets the number of workers. With 0, the default, the environment variable `RAYON_NUM_THREADS`
    /// counts, or else there is one worker per processor. A larger number than [`max_num_threads`]
    /// means that maximum.
    pub fn num_threads(mut self, num_threads: usize) -> Self {
        self.num_threads = num_threads;
        self
    }

    /// Sets a closure that gets the panics for which no caller waits. Without it, such a panic aborts
    /// the process.
    pub fn panic_handler<H>(mut self, panic_handler: H) -> Self
    where
        H: Fn(Box<dyn Any + Send>) + Send + Sync + 'static,
    {
        self.panic_handler = Some(Box::new(panic_handler));
        self
    }

    /// Sets the size of each worker's stack in bytes.
    pub fn stack_size(mut self, stack_size: usize) -> Self {
        self.stack_size = Some(stack_size);
        self
    }

    /// Makes workers take their own jobs oldest first instead of newest first.
    #[deprecated(note = "use `scope_fifo` and `spawn_fifo` for similar effect")]
    pub fn breadth_first(mut self) -> Self {
        self.breadth_first = true;
        self
    }

    /// Sets a closure that each worker's thread calls before its first job, with its number.
    pub fn start_handler<H>(mut self, start_handler: H) -> Self
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        self.start_handler = Some(Box::new(start_handler));
        self
    }

    /// Sets a closure that each worker's thread calls after its last job, with its number.
    pub fn exit_handler<H>(mut self, exit_handler: H) -> Self
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        self.exit_handler = Some(Box::new(exit_handler));
        self
    }
}

/// Waits for the threads of a pool when it is dropped, by a panic too. The scope would wait as well, but
/// without telling the pool's handlers that this thread waits.
struct StoppedAtEnd(PoolHandle);

impl Drop for StoppedAtEnd {
    fn drop(&mut self) {
        self.0.wait_until_stopped();
    }
}

impl<S> fmt::Debug for ThreadPoolBuilder<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut output = f.debug_struct("ThreadPoolBuilder");
        output.field("num_threads", &self.num_threads);
        self.extras.debug(&mut output);
        output
            .field("get_thread_name", &closure(&self.get_thread_name))
            .field("panic_handler", &closure(&self.panic_handler))
            .field("stack_size", &self.stack_size)
            .field("start_handler", &closure(&self.start_handler))
            .field("exit_handler", &closure(&self.exit_handler))
            .field("breadth_first", &self.breadth_first)
            .finish()
    }
}

/// Returns what debug output shows of a closure: whether it is set.
pub(crate) fn closure<F>(closure: &Option<F>) -> Option<fmt::Arguments<'static>> {
    closure.as_ref().map(|_| format_args!("<closure>"))
}
