//! Fork and join on the current pool.

use crate::{context::FnContext, global::in_worker};

/// Runs two closures, potentially in parallel, and returns both results.
///
/// On a worker, `b` is put where other workers may steal it, `a` is run, and then `b` too if
/// nobody took it: about as cheap as two calls when all workers are busy. On any other thread,
/// the closures are handed to the [global pool](crate::ThreadPoolBuilder::build_global), and the
/// thread waits.
///
/// While it waits for a stolen `b`, a worker runs other jobs of the pool. So do not hold a lock
/// across a `join` if another job may take it.
///
/// # Panics
/// Continues the panic of `a`, or else that of `b`, when both have ended.
///
/// # Examples
/// ```
/// fn sum(numbers: &[u64]) -> u64 {
///     if numbers.len() <= 1000 {
///         return numbers.iter().sum();
///     }
///     let (left, right) = numbers.split_at(numbers.len() / 2);
///     let (left, right) = pool_std::join(|| sum(left), || sum(right));
///     left + right
/// }
/// assert_eq!(sum(&(0..10_000).collect::<Vec<_>>()), 49_995_000);
/// ```
#[inline(always)]
pub fn join<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    in_worker(|worker, migrated| worker.join_context(|_| a(), |_| b(), migrated))
}

/// As [`join`], and tells each closure whether it has migrated to another thread.
#[inline(always)]
pub fn join_context<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA + Send,
    B: FnOnce(FnContext) -> RB + Send,
    RA: Send,
    RB: Send,
{
    in_worker(|worker, migrated| {
        worker.join_context(
            |by| a(FnContext::new(by.migrated())),
            |by| b(FnContext::new(by.migrated())),
            migrated,
        )
    })
}
