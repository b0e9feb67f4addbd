//! The jobs of a pool that have a handle.

use pool_core::Priority;

use crate::{
    api::{
        CancelToken,
        handle::{self, Always, JoinHandle},
    },
    thread_pool::ThreadPool,
};

impl ThreadPool {
    /// Spawns a job as [`spawn_handle`](crate::spawn_handle) does, on this pool.
    ///
    /// If the pool [has been shut down](Self::shutdown_timeout), the job is dropped on this thread,
    /// and its handle says that it was [aborted](crate::JoinError::is_aborted).
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    ///
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let job = pool.spawn_handle(|| 6 * 7);
    /// assert_eq!(job.join().unwrap(), 42);
    ///
    /// // Another thread may do this at any time.
    /// pool.shutdown_timeout(Duration::MAX)?;
    /// let job = pool.spawn_handle(|| 6 * 7);
    /// assert!(job.join().unwrap_err().is_aborted());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn spawn_handle<F, T>(&self, job: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let spawn = |job| handle::spawn_handle_on(&self.registry, Always, job);
        self.spawn_or_refuse(spawn, job)
    }

    /// Spawns a job as [`spawn_handle_with`](crate::spawn_handle_with) does, on this pool.
    ///
    /// If the pool has been shut down, the job is aborted, as that of
    /// [`spawn_handle`](Self::spawn_handle).
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let job = pool.spawn_handle_with(pool_std::Priority::Urgent, || 6 * 7);
    /// assert_eq!(job.join().unwrap(), 42);
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    pub fn spawn_handle_with<F, T>(&self, priority: Priority, job: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let spawn = |job| handle::spawn_handle_with_on(&self.registry, priority, job);
        self.spawn_or_refuse(spawn, job)
    }

    /// Spawns a job as [`CancelToken::spawn_handle`](crate::CancelToken::spawn_handle) does, on
    /// this pool.
    ///
    /// If the pool has been shut down, the job is aborted, as that of
    /// [`spawn_handle`](Self::spawn_handle).
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let token = pool_std::CancelToken::new();
    /// let handle = pool.spawn_handle_unless(&token, || 6 * 7);
    /// assert_eq!(handle.join().ok(), Some(42));
    /// token.cancel();
    /// let handle = pool.spawn_handle_unless(&token, || unreachable!("it is not begun"));
    /// assert!(handle.join().is_err_and(|error: pool_std::JoinError| error.is_aborted()));
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    pub fn spawn_handle_unless<F, T>(&self, token: &CancelToken, job: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let spawn = |job| handle::spawn_handle_on(&self.registry, token.clone(), job);
        self.spawn_or_refuse(spawn, job)
    }

    /// Spawns a job or a future by a closure, with a reference to the pool, unless the pool has
    /// ended.
    fn spawn_or_refuse<F, T>(&self, spawn: impl FnOnce(F) -> JoinHandle<T>, job: F) -> JoinHandle<T>
    where
        F: Send + 'static,
        T: Send + 'static,
    {
        if self.try_add_reference() {
            spawn(job)
        } else {
            handle::refuse(&self.registry, job)
        }
    }

    /// Spawns a future as [`spawn_future`](crate::spawn_future) does, on this pool.
    ///
    /// If the pool has been shut down, the future is aborted, as the job of
    /// [`spawn_handle`](Self::spawn_handle).
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let job = pool.spawn_future(async { 6 * 7 });
    /// assert_eq!(job.join().unwrap(), 42);
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    pub fn spawn_future<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        let spawn = |future| handle::spawn_future_on(self.registry.clone(), future);
        self.spawn_or_refuse(spawn, future)
    }
}
