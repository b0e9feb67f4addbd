//! Latches: one event, one thread that waits for it, and the threads that set it.

use crate::platform::Platform;

mod blocking;
mod count;
mod spin;
#[cfg(test)]
mod tests;

pub use blocking::BlockingLatch;
pub use count::CountLatch;
pub use spin::SpinLatch;

/// An event that is set once.
///
/// # Examples
/// A job for which a thread outside the pool waits:
/// ```
/// use std::ptr::NonNull;
///
/// use pool_core::{
///     BlockingLatch, Job, JobHeader, JobQueue as _, JobRef, Latch as _, Platform, Registry,
/// };
///
/// #[repr(C)]
/// struct Ping<P: Platform> {
///     header: JobHeader,
///     done: BlockingLatch<P>,
/// }
///
/// // SAFETY: 1. the header comes first, and is made for this type.
/// unsafe impl<P: Platform> Job for Ping<P> {
///     unsafe fn execute(this: *const ()) {
///         let this: *const Self = this.cast();
///         // SAFETY: 1. the thread that waits keeps the job until then; 2. a job is run once; 3.
///         // it is not a latch of a pool.
///         unsafe { BlockingLatch::set(&raw const (*this).done) };
///     }
/// }
///
/// /// Returns when a worker has run a job.
/// fn ping<P: Platform>(registry: &Registry<P>) {
///     let job = Ping::<P> {
///         header: JobHeader::new::<Ping<P>>(),
///         done: BlockingLatch::new(),
///     };
///     let mut node = P::Queue::node();
///     // SAFETY: `inject` and `new`: 1. both live until the job has been run, which `wait` waits
///     // for. `new`: 2. what the job has is `Sync`.
///     unsafe { registry.inject(NonNull::from(&mut node), JobRef::new(&raw const job)) };
///     job.done.wait();
/// }
/// ```
pub trait Latch {
    /// The platform of the waiter, and of the workers that set the latch.
    type Platform: Platform;

    /// Sets the latch and wakes the thread that waits.
    ///
    /// Takes a pointer, because the waiter may continue, and end the frame that holds the latch,
    /// before the call returns (rayon#739, #929).
    ///
    /// # Safety
    /// 1. `this` points to a live latch when the call begins.
    /// 2. It is called once for each latch, when what the waiter waits for has happened; for a
    ///    [`CountLatch`], once for each job that was pending.
    /// 3. If the latch was made for jobs that run on a certain pool, as [`SpinLatch::new`] and
    ///    [`CountLatch::new`] do, a worker of that pool calls it, or a thread that keeps that pool
    ///    alive meanwhile.
    unsafe fn set(this: *const Self);
}
