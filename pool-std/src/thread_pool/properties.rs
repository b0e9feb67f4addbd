//! The properties of a pool: its size, the caller's place in it, and the settings with which it was
//! built.

use std::fmt;

use pool_core::IdlePolicy;

use super::ThreadPool;
use crate::{fence::ProcessBarrier, sleep::SleepKind, worker::current_worker_of};

impl ThreadPool {
    /// Returns the number of workers, including [parked](Self::set_active_workers) workers.
    #[must_use]
    pub fn current_num_threads(&self) -> usize {
        self.registry.num_workers()
    }

    /// Returns the number of this thread in the pool, or None if it is not one of the pool's
    /// workers.
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// assert_eq!(pool.current_thread_index(), None);
    /// assert!(pool.install(|| pool.current_thread_index()).is_some());
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    #[must_use]
    pub fn current_thread_index(&self) -> Option<usize> {
        current_worker_of(&self.registry).map(|worker| worker.index().get())
    }

    /// Returns the sleep protocol, as [chosen](crate::ThreadPoolBuilder::sleep) for this pool.
    ///
    /// # Examples
    /// ```
    /// use pool_std::{SleepKind, ThreadPoolBuilder};
    ///
    /// let pool = ThreadPoolBuilder::new().num_threads(1).sleep(SleepKind::Classic).build()?;
    /// assert_eq!(pool.sleep_kind(), SleepKind::Classic);
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    #[must_use]
    pub fn sleep_kind(&self) -> SleepKind {
        self.registry.sleep().kind()
    }

    /// Returns how idle workers search before they sleep, as
    /// [chosen](crate::ThreadPoolBuilder::idle_policy) for this pool and applied to the
    /// processors that its process may use.
    ///
    /// # Examples
    /// ```
    /// use pool_std::{IdlePolicy, ThreadPoolBuilder};
    ///
    /// let builder = ThreadPoolBuilder::new().num_threads(2);
    /// let pool = builder.idle_policy(IdlePolicy::IMMEDIATE).build()?;
    /// assert_eq!(pool.idle_policy(), IdlePolicy::IMMEDIATE);
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    #[must_use]
    pub fn idle_policy(&self) -> IdlePolicy {
        self.registry.sleep().policy()
    }

    /// Whether workers that fall asleep overlook no job: the pool was [asked
    /// to](crate::ThreadPoolBuilder::overlook_no_jobs), and the system currently executes the
    /// required fences.
    ///
    /// # Examples
    /// ```
    /// let builder = pool_std::ThreadPoolBuilder::new().num_threads(2);
    /// let pool = builder.overlook_no_jobs(true).build()?;
    /// if !pool.overlooks_no_jobs() {
    ///     println!("the system has no fence for all threads of a process");
    /// }
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    #[must_use]
    pub fn overlooks_no_jobs(&self) -> bool {
        self.registry.data().overlooks_no_jobs && ProcessBarrier::is_at_hand()
    }
}

/// Prints one line. The alternate form has a line for each fact, and the table of the pool's
/// [metrics](ThreadPool::metrics), at most 100 columns wide.
impl fmt::Debug for ThreadPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadPool")
            .field("num_threads", &self.current_num_threads())
            .field("id", &self.id())
            .field("sleep", &self.sleep_kind())
            .field("overlooks_no_jobs", &self.overlooks_no_jobs())
            .field("fences", &ProcessBarrier::description())
            .finish()?;
        if f.alternate() {
            write!(f, "\n{}", self.metrics())?;
        }
        Ok(())
    }
}
