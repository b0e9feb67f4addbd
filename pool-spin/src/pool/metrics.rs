//! Metrics of a pool of cores at one moment.

use pool_core::{UnknownWorker, WorkerMetrics};

use super::{SpinPool, system::System};

/// The metrics of a pool at one moment. Created by [`SpinPool::metrics`].
#[doc(alias = "Statistics")]
pub type PoolMetrics<S> = pool_core::PoolMetrics<<S as System>::PerCore<WorkerMetrics>>;

impl<S: System> SpinPool<S> {
    /// Returns what each worker is doing and has done so far, and how many jobs are queued.
    ///
    /// Any core may call this, and so may an interrupt handler: it waits for nothing. `{}` prints
    /// the metrics as a table.
    ///
    /// # Examples
    /// ```
    /// use pool_spin::{Cores, SpinPool, WorkerState, host::Host};
    ///
    /// static POOL: SpinPool<Cores<Host, 2, 64>> = SpinPool::new();
    ///
    /// POOL.run_with(0, |worker| {
    ///     worker.spawn(|_| ());
    ///     let metrics = POOL.metrics();
    ///     assert_eq!(metrics.workers()[0].state, WorkerState::Active);
    ///     assert_eq!(metrics.workers()[1].state, WorkerState::Absent);
    ///     assert_eq!(metrics.workers()[0].queued, 1);
    ///     assert_eq!(metrics.sum().jobs_posted, 1);
    ///     println!("{metrics}");
    /// })?;
    /// # Ok::<(), pool_spin::RunError>(())
    /// ```
    #[doc(alias = "statistics")]
    pub fn metrics(&self) -> PoolMetrics<S> {
        self.registry().metrics(|of| S::per_core(of))
    }

    /// Returns what one worker is doing and has done so far.
    ///
    /// # Errors
    /// [`UnknownWorker`] if there are not that many.
    #[doc(alias = "statistics")]
    pub fn worker_metrics(&self, index: usize) -> Result<WorkerMetrics, UnknownWorker> {
        let worker = self.registry().worker(index)?;
        Ok(self.registry().worker_metrics(worker))
    }

    /// Returns how many workers sleep at this moment. The number may be out of date on return.
    pub fn num_sleeping(&self) -> usize {
        self.registry().num_sleeping()
    }
}
