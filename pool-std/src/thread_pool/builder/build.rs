//! The most common settings, and the three ways to build a pool: for an owner, as the global pool,
//! and for a scope.

use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use super::{Settings, ThreadPoolBuilder};
use crate::{
    fork,
    platform::Registry,
    thread_pool::{ThreadPool, end::take_part_in_the_end, error::BuildError, global},
    worker::{
        adopted,
        spawn::{DefaultSpawn, ScopedSpawn, ThreadSpawn},
        thread::ThreadBuilder,
    },
};

impl ThreadPoolBuilder {
    /// Creates a builder with the defaults: one worker per processor that this process may use.
    #[must_use]
    pub fn new() -> Self {
        Self {
            settings: Settings::default(),
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
    /// `POOL_STD_NUM_THREADS` is used if it is set and not empty. If its value is not a number, or
    /// is above [`max_num_threads`], building the pool returns an
    /// [error](BuildError::EnvironmentVariable).
    ///
    /// Without that variable, rayon's variables `RAYON_NUM_THREADS` and `RAYON_RS_NUM_CPUS` are
    /// read as rayon reads them, ignoring values that are not numbers. Otherwise, and if the number
    /// is 0, there is one worker per processor that this process may use.
    ///
    /// [`max_num_threads`]: crate::max_num_threads
    #[must_use]
    pub fn num_threads(mut self, num_threads: usize) -> Self {
        self.settings.num_threads = num_threads;
        self
    }

    /// Sets a closure that returns the name of each worker's thread, given the worker's number. For
    /// a name that contains a NUL, building the pool returns an [error](BuildError::ThreadName),
    /// unless a [spawn handler](Self::spawn_handler) starts the threads. A thread that is a worker
    /// by [`use_current_thread`](Self::use_current_thread) keeps its name.
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
        self.settings.thread_name = Some(Box::new(name));
        self
    }
}

impl<S: ThreadSpawn> ThreadPoolBuilder<S> {
    /// Builds the pool and starts its threads.
    ///
    /// # Errors
    /// Returns a [`BuildError`] if the pool cannot be built. Threads that were already started call
    /// their start and exit handlers, and exit; the call does not wait for them. The same happens
    /// if a closure of this builder panics.
    pub fn build(self) -> Result<ThreadPool, BuildError> {
        self.start().map(ThreadPool::new)
    }

    /// Builds the global pool, which threads outside every pool use. It lives until the process
    /// exits, or until the program [takes it](crate::take_global_pool).
    ///
    /// # Errors
    /// Returns a [`BuildError`]:
    /// [`GlobalPoolAlreadyInitialized`](BuildError::GlobalPoolAlreadyInitialized) if this was
    /// called before, or if an earlier use has built the pool with the defaults;
    /// [`GlobalPoolForbidden`](BuildError::GlobalPoolForbidden) if the global pool is
    /// [forbidden](crate::forbid_global_pool); or any error of [`build`](Self::build).
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
        global::initialize_global(|| self.start())
    }
}

impl ThreadPoolBuilder {
    /// Builds a pool whose threads may borrow from the caller, and ends the pool and its threads
    /// when `with_pool` returns. The caller waits for them as in
    /// [`shutdown`](ThreadPool::shutdown).
    ///
    /// Each thread runs `wrapper`, which can set up the thread for the jobs, and must call
    /// [`ThreadBuilder::run`].
    ///
    /// # Errors
    /// As [`build`](Self::build). In that case, `with_pool` has not been called.
    ///
    /// # Panics
    /// Resumes a panic of `with_pool`, when the pool has ended.
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
        let wrappers = AtomicUsize::new(0);
        thread::scope(|scope| {
            let mut registry = None;
            // Jobs that run in the wait below must not find that this thread is panicking.
            let result = catch_unwind(AssertUnwindSafe(|| {
                let spawn = ScopedSpawn(|thread: ThreadBuilder| {
                    registry.get_or_insert_with(|| thread.registry().clone());
                    let builder = thread.standard();
                    let running = RunningWrapper::new(&wrappers);
                    let run = || {
                        let _running = running;
                        wrapper(thread);
                    };
                    builder.spawn_scoped(scope, run).map(drop)
                });
                let settings = self.settings;
                let pool = ThreadPoolBuilder { settings, spawn }.build()?;
                // An adopted thread may be its only worker.
                registry.get_or_insert_with(|| pool.registry().clone());
                Ok(with_pool(&pool))
            }));
            // The scope would wait for the threads as well, but without the release handler, for
            // whose token they may wait; and a worker of this pool or another one would run no jobs
            // meanwhile. If this thread would wait for itself, only the scope waits. In a child of
            // the pool's process it would wait for threads of the parent, and so would the scope.
            //
            // Ordering: Relaxed. A child has no other thread that could change the count.
            let waits = wrappers.load(Ordering::Relaxed) > 0;
            match registry {
                Some(registry) if fork::is_own_process(&registry) => {
                    _ = take_part_in_the_end(&registry);
                    fork::abort_if_forked(&registry);
                }
                Some(registry) if waits => fork::abort_if_forked(&registry),
                _ => {}
            }
            result.unwrap_or_else(|panic| resume_unwind(panic))
        })
    }
}

/// A thread that runs the wrapper of a scoped pool, or is about to.
struct RunningWrapper<'c>(&'c AtomicUsize);

impl<'c> RunningWrapper<'c> {
    fn new(count: &'c AtomicUsize) -> Self {
        // Ordering: Relaxed here and below. It is a plain count, which only a child looks at.
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for RunningWrapper<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A pool that is being built.
///
/// If that fails, or a closure of the user panics, the drop tells the threads that were started to
/// end. It does not wait for them: a handler may wait for a worker that is never started, and a
/// spawn handler may start threads later.
pub(super) struct Unfinished<'a>(pub(super) &'a Arc<Registry>);

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        self.0.remove_reference();
        adopted::release(self.0);
    }
}
