//! The settings of pools that park workers, and of those whose workers lend their places.

use std::sync::Arc;

use super::ThreadPoolBuilder;
use crate::{
    platform::Registry,
    thread_pool::{
        error::BuildError,
        spares::{SpareSettings, Spares},
    },
    worker::thread::{SpareStart, ThreadSpawn},
};

impl<S> ThreadPoolBuilder<S> {
    /// Sets how many workers are active when the pool starts; the others are parked until
    /// [`set_active_workers`](crate::ThreadPool::set_active_workers) revives them. By default all
    /// are active.
    ///
    /// The number of workers is the maximum. A number of 0, or above the maximum, is an error of
    /// the build.
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new()
    ///     .num_threads(4)
    ///     .active_workers(1)
    ///     .build()?;
    /// assert_eq!((pool.current_num_threads(), pool.active_workers()), (4, 1));
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    #[must_use]
    pub fn active_workers(mut self, active_workers: usize) -> Self {
        self.settings.active_workers = Some(active_workers);
        self
    }

    /// Sets how many spare threads the pool may have, which take the places of workers while those
    /// block in [`block_in_place`](crate::block_in_place()). The default is 0: then that function
    /// only calls its closure.
    ///
    /// The pool starts a spare thread when it needs one and none is free, keeps it for the next
    /// time, and ends it with the pool; [`shutdown`](crate::ThreadPool::shutdown) waits for it.
    /// With a [spawn handler](Self::spawn_handler), or
    /// [`build_scoped`](ThreadPoolBuilder::build_scoped), all of them are started when the pool
    /// is built, since the closure is not there later.
    ///
    /// Spare threads have the numbers after those of the workers, in
    /// [`thread_name`](Self::thread_name), [`start_handler`](Self::start_handler) and
    /// [`exit_handler`](Self::exit_handler). The two handlers are called for each spare that was
    /// used. A spare calls the start handler when it has got its first place, as the worker whose
    /// place that is; so the handler may use the pool. In the exit handler the thread is not a
    /// worker, and the pool has ended.
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new()
    ///     .num_threads(1)
    ///     .max_blocking_threads(1)
    ///     .build()?;
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// let received = pool.install(|| {
    ///     // The only worker would wait for itself without a spare thread.
    ///     pool_std::spawn(move || sender.send(7).unwrap());
    ///     pool_std::block_in_place(move || receiver.recv())
    /// });
    /// assert_eq!(received, Ok(7));
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    #[must_use]
    pub fn max_blocking_threads(mut self, max_blocking_threads: usize) -> Self {
        self.settings.max_blocking_threads = max_blocking_threads;
        self
    }
}

impl<S: ThreadSpawn> ThreadPoolBuilder<S> {
    /// Returns the spares of a pool with this number of workers.
    pub(super) fn spares(&mut self, num_threads: usize) -> Result<Spares, BuildError> {
        let names = (0..self.settings.max_blocking_threads)
            .filter_map(|number| self.name_of(num_threads + number).transpose())
            .collect::<Result<_, _>>()?;
        let settings = SpareSettings {
            names,
            stack_size: self.settings.stack_size,
            on_demand: S::ON_DEMAND,
        };
        Ok(Spares::new(self.settings.max_blocking_threads, settings))
    }

    /// Starts the spare threads of a pool that cannot start them later.
    pub(super) fn start_spares(&mut self, registry: &Arc<Registry>) -> Result<(), BuildError> {
        for number in (0..self.settings.max_blocking_threads).filter(|_| !S::ON_DEMAND) {
            let spares = &registry.data().spares;
            let thread = spares.thread(registry, number, Arc::default(), SpareStart::Free);
            let index = thread.index();
            let result = self.spawn.spawn(thread);
            result.map_err(|source| BuildError::Spawn { index, source })?;
        }
        Ok(())
    }
}
