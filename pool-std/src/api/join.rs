//! Fork and join on the current pool.

use std::{
    marker::PhantomData,
    mem::{ManuallyDrop, MaybeUninit},
};

use pool_core::{ColdArg, JobContext};

use crate::{
    api::current_pool::CurrentPool,
    job_context::follow_half,
    platform::{Std, WorkerThread},
    thread_pool::current::in_global_pool,
};

/// Runs two closures, potentially in parallel, and returns both results.
///
/// A worker queues `b` where other workers may steal it, runs `a`, and then also runs `b` if it was
/// not stolen. When all workers are busy, this is about as cheap as two calls. On any other thread,
/// the closures run in the [global pool](crate::ThreadPoolBuilder::build_global): on the calling
/// thread, if it can [take the place](crate::ThreadPool::call) of a sleeping worker, or else on a
/// worker, for which the calling thread waits.
///
/// While a worker waits for a stolen `b`, it runs other jobs of the pool. So do not hold a lock
/// across a `join` if another job may take the same lock, unless the call is
/// [isolated](crate::isolate), as calls from outside are in a pool that has
/// [guests](crate::ThreadPoolBuilder::guests).
///
/// In a recursion whose leaves take a few nanoseconds, closures that own small values (`move`) are
/// cheaper than closures that borrow them: the values stay in registers.
///
/// # Panics
/// Resumes the panic of `a`, or else that of `b`, when both have finished.
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
    CurrentPool::OWN.join(a, b)
}

/// Runs two closures as [`join`] does, and tells each whether it has migrated to another thread.
///
/// # Panics
/// As [`join`].
///
/// # Examples
/// Splits further only if another worker has taken a half, and works sequentially otherwise:
/// ```
/// use pool_std::{FnContext, join_context};
///
/// fn sum(numbers: &[u64], splits: u32) -> u64 {
///     if splits == 0 || numbers.len() < 2 {
///         return numbers.iter().sum();
///     }
///     let (left, right) = numbers.split_at(numbers.len() / 2);
///     let half = |context: FnContext, numbers| {
///         let splits = if context.migrated() { 8 } else { splits - 1 };
///         sum(numbers, splits)
///     };
///     let (left, right) = join_context(
///         |context| half(context, left),
///         |context| half(context, right),
///     );
///     left + right
/// }
/// assert_eq!(sum(&(0..10_000).collect::<Vec<_>>(), 8), 49_995_000);
/// ```
#[inline(always)]
pub fn join_context<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA + Send,
    B: FnOnce(FnContext) -> RB + Send,
    RA: Send,
    RB: Send,
{
    CurrentPool::OWN.join_context(a, b)
}

/// Joins on this thread if it is a worker, or else in the global pool: as a guest, or on a worker.
#[inline(always)]
pub(super) fn join_anywhere<A, B, RA, RB>(current: CurrentPool, a: A, b: B) -> (RA, RB)
where
    A: FnOnce(JobContext<'_, Std>) -> RA + Send,
    B: FnOnce(JobContext<'_, Std>) -> RB + Send,
    RA: Send,
    RB: Send,
{
    join_outlined(
        current,
        ManuallyDrop::new(a),
        ManuallyDrop::new(follow_half(b)),
    )
}

/// Joins closures that the caller has written to its frame and does not use afterwards.
// Not inlined, so that the closures stay where the caller has written them, and the caller does not
// look for the worker.
#[inline(never)]
fn join_outlined<A, B, RA, RB>(
    current: CurrentPool,
    mut a: ManuallyDrop<A>,
    mut b: ManuallyDrop<B>,
) -> (RA, RB)
where
    A: FnOnce(JobContext<'_, Std>) -> RA + Send,
    B: FnOnce(JobContext<'_, Std>) -> RB + Send,
    RA: Send,
    RB: Send,
{
    // SAFETY: 1. the thread stays the worker at least until the join returns.
    if let Some(worker) = unsafe { WorkerThread::current() } {
        // SAFETY: 1. both are there, and are not used any more.
        return unsafe { worker.join_in_place(&mut a, &mut b, false) };
    }
    let (a, b) = (ManuallyDrop::into_inner(a), ManuallyDrop::into_inner(b));
    in_global_pool(
        current,
        ColdArg::new(
            |worker: &WorkerThread, migrated| {
                let (mut a, mut b) = (ManuallyDrop::new(a), ManuallyDrop::new(b));
                // SAFETY: 1. as above.
                unsafe { worker.join_in_place(&mut a, &mut b, migrated) }
            },
            &mut MaybeUninit::uninit(),
        ),
    )
}

/// Tells a closure of [`join_context`] whether it has migrated to another thread.
///
/// # Examples
/// ```
/// let (first, second) = pool_std::join_context(|context| context.migrated(), |context| {
///     if context.migrated() { "stolen by another worker" } else { "run here" }
/// });
/// println!("the second closure was {second}");
/// # let _ = first;
/// ```
#[derive(Debug)]
pub struct FnContext {
    migrated: bool,
    /// Neither `Send` nor `Sync`, because it is true only on this thread and only now.
    _marker: PhantomData<*mut ()>,
}

impl FnContext {
    #[inline]
    pub(crate) fn new(migrated: bool) -> Self {
        Self {
            migrated,
            _marker: PhantomData,
        }
    }

    /// Whether the closure runs on a different thread from the one that called `join_context`,
    /// because it was stolen or came from outside the pool. This is a good time to split work
    /// further.
    ///
    /// # Examples
    /// ```
    /// let (_, parts) = pool_std::join_context(|_| (), |context| {
    ///     // A stolen job divides its work again, since there are workers that have none.
    ///     if context.migrated() { 4 } else { 1 }
    /// });
    /// assert!(parts == 1 || parts == 4);
    /// ```
    #[inline]
    pub fn migrated(&self) -> bool {
        self.migrated
    }
}
