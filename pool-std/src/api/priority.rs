//! Jobs that run before, or after, all others.

use pool_core::Priority;

use crate::{
    api::spawn::{NO_NODE, counted_job},
    platform::Registry,
    thread_pool::current::with_job_reference,
};

/// Spawns a job on the current pool that runs before other jobs.
///
/// The next worker that looks for a job runs it, even if the worker's own deque holds jobs. Use it
/// for short jobs that other parts of the program wait for, such as responses to a user. Urgent
/// jobs start in the order in which they were spawned.
///
/// No job is interrupted, so an urgent job waits until a worker finishes a job, or waits for a
/// stolen half of a join or for a scope. It may run during such a wait, unless the wait is
/// [isolated](crate::isolate()).
///
/// Urgent jobs do not starve others: each 64th time, a worker starts another job instead.
///
/// A panic goes to the pool's [handler](crate::ThreadPoolBuilder::panic_handler), as with
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

/// Spawns a job on the current pool that runs when there are no other jobs.
///
/// A worker runs it when it finds no other job in the whole pool. Use it for work that should not
/// delay any other work, such as clearing a cache. Background jobs start in the order in which they
/// were spawned.
///
/// A worker that has started a background job finishes it before it looks for others. So divide
/// long background jobs into jobs that each spawn the next part.
///
/// Other jobs do not starve background jobs: each 64th job that a worker starts at top level, with
/// no other job below on its stack, comes from another source, and every fifth time from the
/// background queue first.
///
/// A panic goes to the pool's [handler](crate::ThreadPoolBuilder::panic_handler), as with
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
/// until the call returns, even if the job ends earlier.
pub(crate) fn spawn_with_priority_on(
    registry: &Registry,
    priority: Priority,
    job: impl FnOnce() + Send + 'static,
) {
    // SAFETY: `counted_job`: 1. it is queued. `inject_with`: 1. the queue needs no node.
    unsafe { registry.inject_with(priority, NO_NODE, counted_job(registry, job)) };
}
