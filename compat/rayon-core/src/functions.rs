//! The functions of pool-std for which rayon's programs have a default of their own: outside every
//! pool their closures run as [guests](crate::ThreadPoolBuilder::guests), unless the program or its
//! environment says otherwise.

use pool_std::{FnContext, Scope, ScopeFifo};
use rayon_names::guests::WITH_GUESTS;

/// Runs two closures, potentially in parallel, and returns both results: [`pool_std::join()`].
///
/// # Panics
/// Continues the panic of a closure, the first's if both panic.
///
/// # Examples
/// ```
/// assert_eq!(rayon_core::join(|| 1 + 2, || 3 + 4), (3, 7));
/// ```
#[inline(always)]
pub fn join<A, B, RA, RB>(oper_a: A, oper_b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    WITH_GUESTS.join(oper_a, oper_b)
}

/// Runs two closures as [`join`] does, and tells each whether it has migrated to another thread:
/// [`pool_std::join_context`].
///
/// # Panics
/// As [`join`].
#[inline(always)]
pub fn join_context<A, B, RA, RB>(oper_a: A, oper_b: B) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA + Send,
    B: FnOnce(FnContext) -> RB + Send,
    RA: Send,
    RB: Send,
{
    WITH_GUESTS.join_context(oper_a, oper_b)
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
    WITH_GUESTS.scope(op)
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
    WITH_GUESTS.scope_fifo(op)
}
