//! The settings of what workers may run while they wait.

use pool_core::Isolation;

use super::ThreadPoolBuilder;

impl<S> ThreadPoolBuilder<S> {
    /// Sets what a worker may run while it waits for a stolen half of a join, or for the jobs of a
    /// scope. The default is [`Isolation::Anything`].
    ///
    /// With a stricter setting, a job may hold a lock across a parallel call even if other jobs
    /// need the lock. [`isolate`](crate::isolate) does the same for one call. Callers that are
    /// [guests](Self::guests) run only descendants of their own call in any case.
    ///
    /// It has no effect in a [breadth-first](Self::breadth_first) pool.
    ///
    /// # Examples
    /// ```
    /// use pool_std::{Isolation, ThreadPoolBuilder};
    ///
    /// let pool = ThreadPoolBuilder::new()
    ///     .num_threads(2)
    ///     .isolation(Isolation::Subtree)
    ///     .build()?;
    /// assert_eq!(pool.join(|| 1, || 2), (1, 2));
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    #[must_use]
    pub fn isolation(mut self, isolation: Isolation) -> Self {
        self.settings.waits.isolation = isolation;
        self
    }

    /// Bounds how many jobs a worker nests on its stack. A worker that waits in a job nested more
    /// deeply than `max_nesting` runs only descendants of the jobs that it waits for.
    ///
    /// A worker that waits runs other jobs on top of its stack, and these may wait in turn. So a
    /// program whose jobs all wait can exhaust a stack of any size. By default, on Linux, Android,
    /// Windows, macOS and iOS, a worker restricts its waits in this way when it has used half of
    /// its stack. Elsewhere there is no bound by default.
    ///
    /// It has no effect in a [breadth-first](Self::breadth_first) pool.
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new()
    ///     .num_threads(2)
    ///     .max_nesting(8)
    ///     .build()?;
    /// assert_eq!(pool.join(|| 1, || 2), (1, 2));
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    #[must_use]
    pub fn max_nesting(mut self, max_nesting: usize) -> Self {
        self.settings.waits.max_nesting = Some(max_nesting);
        self
    }
}
