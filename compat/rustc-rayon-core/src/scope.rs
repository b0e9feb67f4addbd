//! Scopes, whose jobs run with the value of [`TLV`](crate::tlv::TLV) that the scope was created
//! with.
//!
//! Not with the value of the moment at which they are spawned: that may point into a frame inside
//! the scope's body, and a job may begin after the body has ended.

use std::{fmt, ptr::NonNull};

use pool_std::BroadcastContext;
use rayon_names::guests::WITHOUT_GUESTS;

use crate::tlv::Value;

/// Spawns jobs that may borrow what outlives the scope: [`pool_std::Scope`].
pub struct Scope<'scope> {
    base: Base<pool_std::Scope<'scope>>,
}

/// A [`Scope`] whose jobs start in the order in which they were spawned: [`pool_std::ScopeFifo`].
pub struct ScopeFifo<'scope> {
    base: Base<pool_std::ScopeFifo<'scope>>,
}

/// A pool's scope, which outlives this value, and the value that its jobs run with.
struct Base<S> {
    scope: NonNull<S>,
    value: Value,
}

// SAFETY: it is used as `&S`.
unsafe impl<S: Sync> Send for Base<S> {}
// SAFETY: as above.
unsafe impl<S: Sync> Sync for Base<S> {}

impl<S> Base<S> {
    /// # Safety
    /// 1. `scope` outlives the new value.
    unsafe fn new(scope: &S, value: Value) -> Self {
        let scope = NonNull::from(scope);
        Self { scope, value }
    }

    fn scope(&self) -> &S {
        // SAFETY: by obligation 1 of `new`, the scope is alive.
        unsafe { self.scope.as_ref() }
    }
}

/// Runs `body` on the current pool, and returns when all jobs that were spawned in it have ended:
/// [`pool_std::scope()`].
///
/// # Panics
/// Continues the first panic of the body or a job, when all have ended.
///
/// # Examples
/// ```
/// let mut numbers = [1, 2, 3];
/// rayon_core::scope(|scope| {
///     for number in &mut numbers {
///         scope.spawn(move |_| *number *= 10);
///     }
/// });
/// assert_eq!(numbers, [10, 20, 30]);
/// ```
pub fn scope<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R + Send,
    R: Send,
{
    WITHOUT_GUESTS.scope(Scope::body(op))
}

/// Runs a scope as [`scope()`] does, but the jobs that one worker spawns start in that order:
/// [`pool_std::scope_fifo`].
///
/// # Panics
/// As [`scope()`].
pub fn scope_fifo<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
    R: Send,
{
    WITHOUT_GUESTS.scope_fifo(ScopeFifo::body(op))
}

/// Runs a scope as [`scope()`] does, with the body on this thread: [`pool_std::in_place_scope`].
///
/// # Panics
/// As [`scope()`].
pub fn in_place_scope<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R,
{
    pool_std::in_place_scope(Scope::body(op))
}

/// Runs a scope as [`scope_fifo`] does, with the body on this thread:
/// [`pool_std::in_place_scope_fifo`].
///
/// # Panics
/// As [`scope()`].
pub fn in_place_scope_fifo<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R,
{
    pool_std::in_place_scope_fifo(ScopeFifo::body(op))
}

impl<'scope> Scope<'scope> {
    /// Returns the body of a pool's scope that calls the body of ours. Both, and all jobs of the
    /// scope, run with the value that this thread has now.
    pub(crate) fn body<R>(
        op: impl FnOnce(&Self) -> R,
    ) -> impl FnOnce(&pool_std::Scope<'scope>) -> R {
        let value = Value::current();
        move |scope| Self::enter(scope, value, op)
    }

    fn enter<R>(
        scope: &pool_std::Scope<'scope>,
        value: Value,
        closure: impl FnOnce(&Self) -> R,
    ) -> R {
        // SAFETY: 1. `entered` ends with this call, because the closure borrows it.
        let base = unsafe { Base::new(scope, value) };
        let entered = Self { base };
        value.with(|| closure(&entered))
    }

    /// Spawns a job, which is given the scope so that it may spawn more:
    /// [`pool_std::Scope::spawn`].
    pub fn spawn<BODY>(&self, body: BODY)
    where
        BODY: FnOnce(&Scope<'scope>) + Send + 'scope,
    {
        let value = self.base.value;
        let job = move |scope: &_| Self::enter(scope, value, body);
        self.base.scope().spawn(job);
    }

    /// Spawns a job on each worker of the pool: [`pool_std::Scope::spawn_broadcast`].
    pub fn spawn_broadcast<BODY>(&self, body: BODY)
    where
        BODY: Fn(&Scope<'scope>, BroadcastContext<'_>) + Send + Sync + 'scope,
    {
        let value = self.base.value;
        self.base.scope().spawn_broadcast(move |scope, context| {
            Self::enter(scope, value, |scope| body(scope, context));
        });
    }
}

impl<'scope> ScopeFifo<'scope> {
    /// Returns the body of a pool's scope that calls the body of ours: [`Scope::body`].
    pub(crate) fn body<R>(
        op: impl FnOnce(&Self) -> R,
    ) -> impl FnOnce(&pool_std::ScopeFifo<'scope>) -> R {
        let value = Value::current();
        move |scope| Self::enter(scope, value, op)
    }

    fn enter<R>(
        scope: &pool_std::ScopeFifo<'scope>,
        value: Value,
        closure: impl FnOnce(&Self) -> R,
    ) -> R {
        // SAFETY: 1. `entered` ends with this call, because the closure borrows it.
        let base = unsafe { Base::new(scope, value) };
        let entered = Self { base };
        value.with(|| closure(&entered))
    }

    /// Spawns a job, which is given the scope so that it may spawn more:
    /// [`pool_std::ScopeFifo::spawn_fifo`].
    pub fn spawn_fifo<BODY>(&self, body: BODY)
    where
        BODY: FnOnce(&ScopeFifo<'scope>) + Send + 'scope,
    {
        let value = self.base.value;
        let job = move |scope: &_| Self::enter(scope, value, body);
        self.base.scope().spawn_fifo(job);
    }

    /// Spawns a job on each worker of the pool: [`pool_std::ScopeFifo::spawn_broadcast`].
    pub fn spawn_broadcast<BODY>(&self, body: BODY)
    where
        BODY: Fn(&ScopeFifo<'scope>, BroadcastContext<'_>) + Send + Sync + 'scope,
    {
        let value = self.base.value;
        self.base.scope().spawn_broadcast(move |scope, context| {
            Self::enter(scope, value, |scope| body(scope, context));
        });
    }
}

impl fmt::Debug for Scope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.base.scope().fmt(f)
    }
}

impl fmt::Debug for ScopeFifo<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.base.scope().fmt(f)
    }
}
