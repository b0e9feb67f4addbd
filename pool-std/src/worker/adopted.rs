//! Workers on threads that their pool did not start.

use std::{cell::Cell, io, ptr::NonNull, sync::Arc};

use crate::{
    blocking::handlers::during_adoption,
    fork,
    platform::{Registry, WorkerThread},
    seeded::with_member,
    thread_pool::error::BuildError,
    worker::frames,
};

#[cfg(test)]
mod tests;

thread_local! {
    static ADOPTED: Adopted = const { Adopted(Cell::new(None)) };
}

/// The worker of this thread, if a pool has adopted the thread: the pointer of its box, by which
/// [`release`] frees it.
struct Adopted(Cell<Option<NonNull<WorkerThread>>>);

impl Adopted {
    fn worker(&self) -> Option<&'static WorkerThread> {
        // SAFETY: it stays for good, but for `release`, which takes it out and whose thread has no
        // reference to it any more.
        self.0.get().map(|worker| unsafe { worker.as_ref() })
    }
}

/// Runs when the thread ends, perhaps within a job that calls `exit`. Then frames that use the
/// worker stay, and other threads may set latches in them. So this frees nothing. It also runs no
/// job, which could need a lock that such a frame holds.
impl Drop for Adopted {
    fn drop(&mut self) {
        // A worker that is lent belongs to another thread, which goes on until the process has
        // ended.
        let is_ours = |worker: &&'static WorkerThread| !frames::is_lending() && is_here(worker);
        let worker = self.worker().filter(is_ours);
        self.0.set(None);
        if let Some(worker) = worker {
            during_adoption(|| worker.abandon());
            leave_turns(worker);
            worker.registry().data().threads.abandon();
        }
    }
}

/// Whether the worker belongs to this process. In a child, its thread is not a worker.
fn is_here(worker: &&'static WorkerThread) -> bool {
    fork::is_own_process(worker.registry())
}

/// Calls a closure with what this thread has. Returns None while the thread ends.
fn with_adopted<R>(closure: impl FnOnce(&Adopted) -> R) -> Option<R> {
    ADOPTED.try_with(closure).ok()
}

/// Makes this thread worker 0 of a pool, until the thread ends.
///
/// The adoption outlasts the pool, because a frame further up the stack may be using the worker
/// when the owner drops the pool. When the thread ends, a frame may still do so, for all we know.
/// So the worker and the registry are never freed.
pub(crate) fn adopt(registry: &Arc<Registry>) -> Result<(), BuildError> {
    // SAFETY: 1. the reference is only compared.
    if unsafe { WorkerThread::current() }.is_some() || frames::is_lending() {
        return Err(BuildError::CurrentThreadAlreadyInPool);
    }
    let is_adopted = with_adopted(|adopted| adopted.worker().as_ref().is_some_and(is_here));
    let Some(is_adopted) = is_adopted else {
        let source = io::Error::other("the current thread is ending");
        return Err(BuildError::Spawn { index: 0, source });
    };
    if is_adopted {
        return Err(BuildError::CurrentThreadAlreadyInPool);
    }
    let index = registry.worker(0).expect("a pool has at least one worker");
    let registry = Arc::into_raw(registry.clone());
    // SAFETY: 1. the worker holds the reference that was taken just above; 2. it is the `Arc`'s
    // pointer.
    let worker = unsafe { WorkerThread::new(registry, index) }.expect("the pool is new");
    let boxed = NonNull::from(Box::leak(Box::new(worker)));
    // SAFETY: as in `Adopted::worker`.
    let worker: &'static WorkerThread = unsafe { boxed.as_ref() };
    // SAFETY: 1. it stays for good, but for `release`, where it leaves.
    during_adoption(|| unsafe { worker.enter() });
    with_adopted(|adopted| adopted.0.set(Some(boxed)));
    with_member(worker, |membership, member| membership.turns.adopt(member));
    Ok(())
}

/// Returns the worker of this thread, if the pool has adopted the thread.
fn adopted_by(registry: &Registry) -> Option<&'static WorkerThread> {
    with_adopted(Adopted::worker)
        .flatten()
        .filter(|worker| std::ptr::eq(worker.registry(), registry))
}

/// Whether the pool has adopted this thread.
pub(crate) fn is_adopted_by(registry: &Registry) -> bool {
    adopted_by(registry).is_some()
}

/// Gives back the turn of a worker of a seeded pool.
fn leave_turns(worker: &WorkerThread) {
    with_member(worker, |membership, member| membership.turns.leave(member));
}

/// Undoes the adoption of this thread by a pool that could not be built.
pub(crate) fn release(registry: &Registry) {
    let Some(worker) = adopted_by(registry) else {
        return;
    };
    // Closures that help to build a pool may have spawned jobs, and there may be no other worker.
    //
    // Liveness: it ends when they spawn no more. A job that spawns the next one until something
    // happens after the build keeps this thread, as it keeps a pool that is dropped.
    while worker.yield_now() {}
    during_adoption(|| worker.leave());
    leave_turns(worker);
    let boxed = with_adopted(|adopted| adopted.0.take()).flatten();
    let boxed = boxed.expect("the worker came from there");
    let registry = worker.registry_pointer();
    // SAFETY: both come from `adopt`, in this order, and are taken back once. No frame uses the
    // worker any more: it was adopted by the build that now fails, and whatever that has called has
    // returned. So no latch of a frame leads to it either.
    unsafe {
        drop(Box::from_raw(boxed.as_ptr()));
        drop(Arc::from_raw(registry));
    }
}
