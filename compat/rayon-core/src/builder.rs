//! The settings of a pool.

use std::{fmt, io, thread};

use pool_std::ThreadBuilder;
use rayon_names::{
    error::{ThreadPoolBuildError, in_rayons_words},
    guests,
    settings::Settings,
    spawn::{CustomSpawn, DefaultSpawn, ScopedThreads, ThreadSpawn},
};

use crate::thread_pool::ThreadPool;

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
    use_current_thread: bool,
    guests: Option<bool>,
    spawn: S,
}

impl Default for ThreadPoolBuilder {
    fn default() -> Self {
        Self {
            settings: Settings::default(),
            use_current_thread: false,
            guests: None,
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
                threads.note_pool(|| pool.handle());
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
    /// If the system or the spawn handler refuses a thread, or if this thread is to become a worker
    /// and already is one. Threads that were started end.
    pub fn build(self) -> Result<ThreadPool, ThreadPoolBuildError> {
        let (builder, mut spawn) = self.into_parts()?;
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
        let (builder, mut spawn) = self.into_parts()?;
        let builder = builder.spawn_handler(|thread| spawn.spawn(thread));
        builder.build_global().map_err(in_rayons_words)
    }

    fn into_parts(self) -> Result<(pool_std::ThreadPoolBuilder, S), ThreadPoolBuildError> {
        let guests = match self.guests {
            Some(guests) => guests,
            None => guests::from_environment()
                .map_err(in_rayons_words)?
                .unwrap_or(!self.prepares_threads()),
        };
        let mut builder = self.settings.into_builder().guests(guests);
        if self.use_current_thread {
            builder = builder.use_current_thread();
        }
        Ok((builder, self.spawn))
    }

    /// Whether the program gives the workers' threads what a caller's thread does not have, and
    /// what jobs may ask for: a name, thread-locals, a priority.
    fn prepares_threads(&self) -> bool {
        // In WebAssembly a program must start the threads itself, whatever it wants of them.
        let starts_threads = S::IS_CUSTOM && !cfg!(target_family = "wasm");
        starts_threads || self.settings.prepares_threads()
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
            use_current_thread: self.use_current_thread,
            guests: self.guests,
            spawn: CustomSpawn(spawn),
        }
    }

    /// Makes the thread that builds the pool its worker 0.
    pub fn use_current_thread(mut self) -> Self {
        self.use_current_thread = true;
        self
    }

    /// Sets whether a thread outside every pool runs its joins, scopes and parallel iterators
    /// itself, in the place of a worker that sleeps: [`pool_std::ThreadPoolBuilder::guests`]. For
    /// the global pool.
    ///
    /// rayon-core has no such setting, and always runs them on threads of the pool. If this is not
    /// called, the environment variable `RAYON_CORE_GUESTS` decides, which may be 0 or 1. Without
    /// it, the caller runs them, unless the program names the threads, has a start handler or
    /// starts the threads itself: then its closures may rely on what only those threads have. The
    /// page about rayon of the book says which programs see a difference.
    pub fn guests(mut self, guests: bool) -> Self {
        self.guests = Some(guests);
        self
    }
}

rayon_names::setters!();

impl<S> fmt::Debug for ThreadPoolBuilder<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.settings.fmt_builder(f, |output| {
            output.field("use_current_thread", &self.use_current_thread);
            if let Some(guests) = self.guests {
                output.field("guests", &guests);
            }
        })
    }
}
