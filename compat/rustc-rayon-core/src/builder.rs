//! The settings of a pool.

use std::{fmt, io, thread};

use pool_std::ThreadBuilder;
use rayon_names::{
    error::{ThreadPoolBuildError, in_rayons_words},
    settings::Settings,
    spawn::{CustomSpawn, DefaultSpawn, ScopedThreads, ThreadSpawn},
};

use crate::{handlers::Handlers, thread_pool::ThreadPool};

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
    settings: Settings,
    pub(crate) handlers: Handlers,
    spawn: S,
}

impl Default for ThreadPoolBuilder {
    fn default() -> Self {
        Self {
            settings: Settings::default(),
            handlers: Handlers::default(),
            spawn: DefaultSpawn,
        }
    }
}

impl ThreadPoolBuilder {
    /// Creates a builder with the defaults: one worker per processor that this process may use.
    pub fn new() -> Self {
        Self::default()
    }

    /// Builds a pool whose threads may borrow from the caller, and ends the pool and its threads
    /// when `with_pool` returns. Each thread runs `wrapper`, which must call
    /// [`ThreadBuilder::run`].
    ///
    /// # Errors
    /// As [`build`](Self::build); then `with_pool` has not been called.
    pub fn build_scoped<W, F, R>(self, wrapper: W, with_pool: F) -> Result<R, ThreadPoolBuildError>
    where
        W: Fn(ThreadBuilder) + Sync,
        F: FnOnce(&ThreadPool) -> R,
    {
        let threads = ScopedThreads::default();
        thread::scope(|scope| {
            threads.until_stopped(|| {
                let spawn = |thread| threads.spawn(scope, thread, &wrapper);
                let pool = self.spawn_handler(spawn).build()?;
                Ok(with_pool(&pool))
            })
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
    /// If the system or the spawn handler refuses a thread. Threads that were started end.
    pub fn build(self) -> Result<ThreadPool, ThreadPoolBuildError> {
        let (builder, mut spawn) = self.into_parts();
        let builder = builder.spawn_handler(|thread| spawn.spawn(thread));
        let pool = builder.build().map_err(in_rayons_words)?;
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
        builder.build_global().map_err(in_rayons_words)
    }

    fn into_parts(self) -> (pool_std::ThreadPoolBuilder, S) {
        // A compiler's closures expect the thread-locals of the pool's threads.
        let builder = self.settings.into_builder().guests(false);
        (self.handlers.add_to(builder), self.spawn)
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
            settings: self.settings,
            handlers: self.handlers,
            spawn: CustomSpawn(spawn),
        }
    }
}

rayon_names::setters!();

impl<S> fmt::Debug for ThreadPoolBuilder<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.settings
            .fmt_builder(f, |output| self.handlers.debug(output))
    }
}
