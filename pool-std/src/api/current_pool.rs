//! The current pool, for crates that provide its functions under their own names.

use crate::{
    api::{
        join::{FnContext, join_anywhere},
        scope::{Scope, ScopeFifo, in_place_scope_fifo_on, in_place_scope_on},
    },
    thread_pool::current::in_running_pool,
};

/// The current pool, for a crate that provides [`join()`](crate::join()) and
/// [`scope()`](crate::scope()) under its own names, such as a drop-in for another pool.
///
/// The current pool is the one whose worker the calling thread is, or
/// [lends](crate::block_in_place()), or else the [global
/// pool](crate::ThreadPoolBuilder::build_global). A thread outside every pool may run closures
/// itself, as a guest in place of a sleeping worker, if the builder of the pool
/// [enables](crate::ThreadPoolBuilder::guests) guests. If the builder does not set this, the
/// functions of this crate use guests, and a `CurrentPool` uses its own default.
///
/// # Examples
/// Closures whose users expect the pool's own threads:
/// ```
/// use std::thread;
///
/// use pool_std::CurrentPool;
///
/// const CURRENT_POOL: CurrentPool = CurrentPool::with_default_guests(|| false);
///
/// pub fn join<RA: Send, RB: Send>(
///     a: impl FnOnce() -> RA + Send,
///     b: impl FnOnce() -> RB + Send,
/// ) -> (RA, RB) {
///     CURRENT_POOL.join(a, b)
/// }
///
/// let caller = thread::current().id();
/// let (thread, sum) = join(|| thread::current().id(), || 1 + 2);
/// assert_ne!(thread, caller);
/// assert_eq!(sum, 3);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct CurrentPool {
    default_guests: fn() -> bool,
}

impl CurrentPool {
    /// What the functions of this crate use.
    pub(crate) const OWN: Self = Self::with_default_guests(|| true);

    /// Creates a name for the current pool. The function returns whether a thread outside every
    /// pool is a guest if the builder of the pool does not say.
    ///
    /// The function is called on the caller's thread, for each call from outside to which the
    /// default applies. If it panics, the panic propagates to the caller. It must not use the
    /// current pool itself.
    #[must_use]
    pub const fn with_default_guests(default_guests: fn() -> bool) -> Self {
        Self { default_guests }
    }

    /// Whether a thread outside every pool is a guest by default.
    pub(crate) fn has_guests_by_default(self) -> bool {
        (self.default_guests)()
    }

    /// Runs two closures, potentially in parallel, as [`join()`](crate::join()) does.
    ///
    /// # Panics
    /// As [`join()`](crate::join()).
    #[inline(always)]
    pub fn join<A, B, RA, RB>(self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        join_anywhere(self, |_| a(), |_| b())
    }

    /// Runs two closures as [`join_context`](crate::join_context()) does.
    ///
    /// # Panics
    /// As [`join_context`](crate::join_context()).
    ///
    /// # Examples
    /// ```
    /// let current = pool_std::CurrentPool::with_default_guests(|| true);
    /// let (left, right) = current.join_context(|context| context.migrated(), |_| 2);
    /// assert_eq!(right, 2);
    /// # let _ = left;
    /// ```
    #[inline(always)]
    pub fn join_context<A, B, RA, RB>(self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce(FnContext) -> RA + Send,
        B: FnOnce(FnContext) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        join_anywhere(
            self,
            |by| a(FnContext::new(by.migrated())),
            |by| b(FnContext::new(by.migrated())),
        )
    }

    /// Runs a scope as [`scope()`](crate::scope()) does.
    ///
    /// # Panics
    /// As [`scope()`](crate::scope()).
    ///
    /// # Examples
    /// ```
    /// let current = pool_std::CurrentPool::with_default_guests(|| true);
    /// let mut answer = 0;
    /// current.scope(|scope| scope.spawn(|_| answer = 42));
    /// assert_eq!(answer, 42);
    /// ```
    pub fn scope<'scope, F, R>(self, body: F) -> R
    where
        F: FnOnce(&Scope<'scope>) -> R + Send,
        R: Send,
    {
        in_running_pool(self, |_, pool| in_place_scope_on(pool, body))
    }

    /// Runs a scope as [`scope_fifo`](crate::scope_fifo) does.
    ///
    /// # Panics
    /// As [`scope_fifo`](crate::scope_fifo).
    ///
    /// # Examples
    /// ```
    /// let current = pool_std::CurrentPool::with_default_guests(|| true);
    /// let mut answer = 0;
    /// current.scope_fifo(|scope| scope.spawn_fifo(|_| answer = 42));
    /// assert_eq!(answer, 42);
    /// ```
    pub fn scope_fifo<'scope, F, R>(self, body: F) -> R
    where
        F: FnOnce(&ScopeFifo<'scope>) -> R + Send,
        R: Send,
    {
        in_running_pool(self, |_, pool| in_place_scope_fifo_on(pool, body))
    }
}
