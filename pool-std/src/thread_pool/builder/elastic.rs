//! The settings of pools that park workers, and of those whose workers lend their places.

use std::sync::Arc;

use super::ThreadPoolBuilder;
use crate::{
    platform::Registry,
    thread_pool::{
        error::BuildError,
        spares::{SpareSettings, Spares},
    },
    worker::{spawn::ThreadSpawn, thread::SpareStart},
};

impl<S> ThreadPoolBuilder<S> {
    /// Sets how many workers are active when the pool starts; the others are parked until
    /// [`set_active_workers`](crate::ThreadPool::set_active_workers) revives them. By default all
    /// are active.
    ///
    /// The maximum is the number of workers. With 0, or a number above the maximum, building the
    /// pool returns an error.
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

    /// Makes the number of [active workers](crate::ThreadPool::set_active_workers) follow the
    /// number of processors that the process may use: by its affinity, and on Linux by the
    /// quota of its control group and the groups above that. The pool follows a change within a
    /// second.
    ///
    /// This is for programs in a container whose limits change at run time. The maximum is the
    /// number of workers, by default one for each processor of the machine. A call to
    /// [`set_active_workers`](crate::ThreadPool::set_active_workers) disables this.
    ///
    /// The default [idle policy](Self::idle_policy) remains the one for the processors available
    /// when the pool was built.
    ///
    /// The pool has one more thread for this, which sleeps most of the time. It checks its own
    /// affinity, which it inherits from the thread that builds the pool. This has no effect on a
    /// [seeded](Self::seeded) pool.
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new().follow_processors().build()?;
    /// let processors = std::thread::available_parallelism()?.get();
    /// assert_eq!(pool.active_workers(), processors);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// Source: Go 1.25, whose `GOMAXPROCS` follows the quota.
    #[must_use]
    pub fn follow_processors(mut self) -> Self {
        self.settings.follow_processors = true;
        self
    }

    /// Sets how many spare threads the pool may have, which take the places of workers while those
    /// block in [`block_in_place`](crate::block_in_place()). The default is 0, with which that
    /// function only calls its closure.
    ///
    /// The pool starts a spare thread when it needs one and none is free, keeps it for reuse, and
    /// stops it when the pool ends; [`shutdown`](crate::ThreadPool::shutdown) waits for it. With a
    /// [spawn handler](Self::spawn_handler), or [`build_scoped`](ThreadPoolBuilder::build_scoped),
    /// all of them are started when the pool is built, since the closure is not available later.
    /// Such a spare can take a place once its thread has started to run; before that,
    /// `block_in_place` calls its closure on the worker.
    ///
    /// Spare threads have the numbers after those of the workers, in
    /// [`thread_name`](Self::thread_name), [`start_handler`](Self::start_handler) and
    /// [`exit_handler`](Self::exit_handler). The two handlers are called for each spare that was
    /// used. A spare calls the start handler when it has taken its first place, as the worker whose
    /// place that is; so the handler may use the pool. In the exit handler, the thread is not a
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

impl ThreadPoolBuilder<&mut dyn ThreadSpawn> {
    /// Returns the spares of a pool with this number of workers.
    pub(super) fn spares(&mut self, num_threads: usize) -> Result<Spares, BuildError> {
        let names = (0..self.settings.max_blocking_threads)
            .filter_map(|number| self.name_of(num_threads + number).transpose())
            .collect::<Result<_, _>>()?;
        let settings = SpareSettings {
            names,
            stack_size: self.settings.stack_size,
            on_demand: self.spawn.is_on_demand(),
        };
        let maximum = self.settings.max_blocking_threads;
        Ok(Spares::new(maximum, num_threads, settings))
    }

    /// Starts the spare threads of a pool that cannot start them later.
    pub(super) fn start_spares(&mut self, registry: &Arc<Registry>) -> Result<(), BuildError> {
        if self.spawn.is_on_demand() {
            return Ok(());
        }
        for number in 0..self.settings.max_blocking_threads {
            let spares = &registry.data().spares;
            let thread = spares.thread(registry, number, Arc::default(), SpareStart::Free);
            let index = thread.index();
            let result = self.spawn.spawn(thread);
            result.map_err(|source| BuildError::Spawn { index, source })?;
        }
        Ok(())
    }
}
