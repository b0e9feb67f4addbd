//! The setting of what another crate adds to the pool.

use std::io;

use super::ThreadPoolBuilder;
use crate::{
    driver::{Driver, Drivers},
    thread_pool::error::BuildError,
};

/// Makes a driver for a pool with this number of workers.
pub(super) type MakeDriver = dyn FnOnce(usize) -> io::Result<Box<dyn Driver>>;

impl<S> ThreadPoolBuilder<S> {
    /// Sets a [driver](crate::driver), which may give the workers its own parkers. The build calls
    /// `make` with the number of workers. If this is called several times, the last driver is used.
    ///
    /// Such a pool has no [guests](Self::guests), and wakes a worker for each job, regardless of
    /// the number of processors. [`parker`](Self::parker) has no effect on a worker that gets a
    /// parker of the driver.
    ///
    /// If `make` or [`Driver::start`] fails, so does the build, with [`BuildError::Driver`].
    ///
    /// # Examples
    /// Workers that sleep with the standard library's `park`:
    /// ```
    /// use std::{sync::OnceLock, thread::{self, Thread}};
    ///
    /// use pool_std::driver::{Driver, WorkerParker};
    ///
    /// #[derive(Default)]
    /// struct StdParker(OnceLock<Thread>);
    /// impl WorkerParker for StdParker {
    ///     fn park(&self) {
    ///         // The first call returns at once: an earlier `unpark` did not know the thread.
    ///         if self.0.set(thread::current()).is_err() {
    ///             thread::park();
    ///         }
    ///     }
    ///     fn unpark(&self) {
    ///         if let Some(thread) = self.0.get() {
    ///             thread.unpark();
    ///         }
    ///     }
    /// }
    ///
    /// struct StdParkers;
    /// impl Driver for StdParkers {
    ///     fn parker(&self, _worker: usize) -> Option<Box<dyn WorkerParker>> {
    ///         Some(Box::new(StdParker::default()))
    ///     }
    /// }
    ///
    /// let builder = pool_std::ThreadPoolBuilder::new().num_threads(2);
    /// let pool = builder.driver(|_workers| Ok(StdParkers)).build()?;
    /// assert_eq!(pool.join(|| 1, || 2), (1, 2));
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    #[must_use]
    pub fn driver<D: Driver>(
        mut self,
        make: impl FnOnce(usize) -> io::Result<D> + 'static,
    ) -> Self {
        self.settings.driver = Some(Box::new(|workers| Ok(Box::new(make(workers)?))));
        self
    }

    /// Makes the driver, before anything else of the pool.
    pub(super) fn make_driver(&mut self, num_threads: usize) -> Result<Drivers, BuildError> {
        let Some(make) = self.settings.driver.take() else {
            return Ok(Drivers::default());
        };
        let driver = make(num_threads).map_err(|source| BuildError::Driver { source })?;
        Ok(Drivers::of(driver))
    }
}
