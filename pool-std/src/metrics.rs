//! What is known of a pool of threads at one moment.

use pool_core::WorkerMetrics;

use crate::{
    platform::Registry,
    thread_pool::{ThreadPool, current::with_current_registry},
};

/// What is known about a pool at one moment. Created by [`ThreadPool::metrics`] and
/// [`current_metrics`].
pub type PoolMetrics = pool_core::PoolMetrics<Vec<WorkerMetrics>>;

pub(crate) fn metrics_of(registry: &Registry) -> PoolMetrics {
    let metrics: PoolMetrics = registry.metrics(|of| (0..registry.num_workers()).map(of).collect());
    // The injector also has stand-ins for the jobs of scopes.
    let injected = metrics.injector_len().unwrap_or_default();
    metrics.with_injector_len(registry.data().outside_scopes.num_jobs(injected))
}

impl ThreadPool {
    /// Returns what each worker is doing and has done so far, and how many jobs are queued.
    ///
    /// Any thread may call this at any time. It does not stop any worker, and reads a few cache
    /// lines of each. `{}` prints the metrics as a table; `{:#?}` of the pool prints it, too.
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// pool.install(|| pool_std::join(|| (), || ()));
    ///
    /// let metrics = pool.metrics();
    /// assert!(metrics.sum().jobs_run >= 1);
    /// println!("{metrics}");
    /// for worker in metrics.workers() {
    ///     println!("{}, has run {} jobs", worker.state, worker.counts.jobs_run);
    /// }
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    #[doc(alias = "worker_times")]
    #[must_use]
    pub fn metrics(&self) -> PoolMetrics {
        metrics_of(self.registry())
    }
}

/// Returns the [metrics](ThreadPool::metrics) of the current pool: the one whose worker this thread
/// is, or [lends](crate::block_in_place()), or else the global pool.
///
/// # Examples
/// ```
/// let before = pool_std::current_metrics().sum();
/// let (sender, receiver) = std::sync::mpsc::channel();
/// pool_std::spawn(move || sender.send(()).unwrap());
/// receiver.recv().unwrap();
/// assert!((pool_std::current_metrics().sum() - before).jobs_run >= 1);
/// ```
#[must_use]
pub fn current_metrics() -> PoolMetrics {
    with_current_registry(metrics_of)
}
