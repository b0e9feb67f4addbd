//! The three ways to build a pool: for an owner, as the global pool, and for a scope.

use std::thread;

use super::ThreadPoolBuilder;
use crate::{
    thread_pool::{ThreadPool, error::BuildError, global},
    worker::thread::{ThreadBuilder, ThreadSpawn},
};

impl<S: ThreadSpawn> ThreadPoolBuilder<S> {
    /// Builds the pool and starts its threads.
    ///
    /// # Errors
    /// [`BuildError`]. The threads that were started before the failure call their start and exit
    /// handlers, and end; the call does not wait for them. The same happens if a closure of this
    /// builder panics.
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
}

impl ThreadPoolBuilder {
    /// Builds a pool whose threads may borrow from the caller, and ends the pool and its threads when
    /// `with_pool` returns.
    ///
    /// Each thread runs `wrapper`, which sets up what the jobs find on their thread, and must call
    /// [`ThreadBuilder::run`].
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
