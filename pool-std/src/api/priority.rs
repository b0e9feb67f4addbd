//! Jobs that are to be run before, or after, all others.

use pool_core::Priority;

use crate::{
    api::spawn::{NO_NODE, counted_job},
    platform::Registry,
    thread_pool::current::with_job_reference,
};

/// Spawns a job on the current pool that is run before other jobs.
///
/// The next worker that looks for a job runs it, even if jobs wait on the worker's own deque. Use
/// it for short jobs that other parts of the program wait for, such as answers to a user. Urgent
/// jobs start in the order in which they were spawned.
///
/// No job is interrupted, so an urgent job waits until some worker ends a job, or waits for a
/// stolen half or a scope. It may be run in such a wait, unless the wait is
/// [isolated](crate::isolate()).
///
/// Urgent jobs do not keep others from running: after 64 of them, a worker begins one other job.
///
/// A panic goes to the pool's [handler](crate::ThreadPoolBuilder::panic_handler), as that of
/// [`spawn`](crate::spawn()).
///
/// # Examples
/// ```
/// let pool = pool_std::ThreadPoolBuilder::new().num_threads(1).build()?;
/// let (sender, receiver) = std::sync::mpsc::channel();
/// pool.install(|| {
///     let send = |word| {
///         let sender = sender.clone();
///         move || sender.send(word).unwrap()
///     };
///     // The only worker is in this closure, and begins none of them before it has ended.
///     pool_std::spawn_background(send("background"));
///     pool_std::spawn(send("normal"));
///     pool_std::spawn_urgent(send("urgent"));
/// });
/// drop(sender);
/// assert!(receiver.iter().eq(["urgent", "normal", "background"]));
/// # Ok::<(), pool_std::BuildError>(())
/// ```
#[doc(alias = "priority")]
pub fn spawn_urgent<F>(job: F)
where
    F: FnOnce() + Send + 'static,
{
    with_job_reference(|registry| spawn_with_priority_on(registry, Priority::Urgent, job));
}

/// Spawns a job on the current pool that is run when there is no other one.
///
/// A worker runs it when it finds no other job in the whole pool. Use it for work that should not
/// delay any other, such as clearing a cache. Background jobs start in the order in which they were
/// spawned.
///
/// A worker that has begun a background job ends it before it looks for others. So divide long ones
/// into jobs that spawn the next part.
///
/// Other jobs do not keep background jobs from running: after 64 jobs that it begins at top level,
/// below no other job, a worker takes the next one from another source, and from the background
/// queue first each fourth time.
///
/// A panic goes to the pool's [handler](crate::ThreadPoolBuilder::panic_handler), as that of
/// [`spawn`](crate::spawn()).
///
/// # Examples
/// See also [`spawn_urgent`].
///
/// ```
/// use std::sync::mpsc;
///
/// let (send, receive) = mpsc::channel();
/// pool_std::spawn_background(move || _ = send.send("when there is nothing else to do"));
/// assert!(receive.recv().is_ok());
/// ```
#[doc(alias = "priority")]
#[doc(alias = "low priority")]
pub fn spawn_background<F>(job: F)
where
    F: FnOnce() + Send + 'static,
{
    with_job_reference(|registry| spawn_with_priority_on(registry, Priority::Background, job));
}

/// Spawns a job on a pool to which the caller has added a reference for it. The registry must live
/// until the call returns, also if the job ends before.
pub(crate) fn spawn_with_priority_on(
    registry: &Registry,
    priority: Priority,
    job: impl FnOnce() + Send + 'static,
) {
    // SAFETY: `counted_job`: 1. it is queued. `inject_with`: 1. the queue needs no node.
    unsafe { registry.inject_with(priority, NO_NODE, counted_job(registry, job)) };
}
