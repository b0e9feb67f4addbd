//! The end of a pool: dropped, or shut down by a thread that waits for it.

use super::{ThreadPool, error::ShutdownError, guard::keeps_own_pool};
use crate::worker::{adopted, job::current_worker_of, lender};

impl ThreadPool {
    /// Finishes what was spawned, and waits until the workers' threads have ended.
    ///
    /// A thread that is a worker by
    /// [`use_current_thread`](crate::ThreadPoolBuilder::use_current_thread) runs jobs meanwhile, and so
    /// does a worker of another pool.
    ///
    /// # Errors
    /// [`ShutdownError::FromWorker`] on one of the pool's own threads, also in the closure of
    /// [`block_in_place`](crate::block_in_place()), and on an adopted thread within a job or a scope of the
    /// pool, because the thread would wait for itself. The pool still ends when
    /// its work is done.
    ///
    /// # Examples
    /// ```
    /// use std::sync::{
    ///     Arc,
    ///     atomic::{AtomicUsize, Ordering},
    /// };
    ///
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let jobs_run = Arc::new(AtomicUsize::new(0));
    /// for _ in 0..10 {
    ///     let jobs_run = jobs_run.clone();
    ///     pool.spawn(move || _ = jobs_run.fetch_add(1, Ordering::Relaxed));
    /// }
    /// pool.shutdown()?;
    /// assert_eq!(jobs_run.load(Ordering::Relaxed), 10);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn shutdown(self) -> Result<(), ShutdownError> {
        let registry = self.registry.clone();
        drop(self);
        #[cfg(all(feature = "io-uring", target_os = "linux", target_pointer_width = "64"))]
        if crate::io::thread::serves(&registry) {
            return Err(ShutdownError::FromWorker);
        }
        if lender::is_lending_of(&registry) {
            return Err(ShutdownError::FromWorker);
        }
        if let Some(worker) = current_worker_of(&registry) {
            let waits_for_itself = worker.is_running_job() || keeps_own_pool();
            if waits_for_itself || !adopted::is_adopted_by(&registry) {
                return Err(ShutdownError::FromWorker);
            }
            // SAFETY: 1. frames below may have left handles to the worker. But `Worker::join` checks that the thread is
            // the worker, and the parkers and protocols of this crate use none.
            unsafe { worker.run_until_terminated() };
        }
        registry.data().wait_until_stopped();
        Ok(())
    }
}

impl Drop for ThreadPool {
    fn drop(&mut self) {
        self.registry.remove_reference();
    }
}
