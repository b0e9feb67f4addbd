//! Workers on threads that their pool did not start.

use std::{cell::Cell, io, sync::Arc};

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

/// The worker of this thread, if a pool has adopted the thread.
struct Adopted(Cell<Option<&'static WorkerThread>>);

/// Runs when the thread ends, perhaps within a job that calls `exit`. Then frames that use the
/// worker stay, and other threads may set latches in them. So this frees nothing. It also runs no
/// job, which could need a lock that such a frame holds.
impl Drop for Adopted {
    fn drop(&mut self) {
        // A worker that is lent belongs to another thread, which goes on until the process has
        // ended.
        let is_ours = |worker: &&'static WorkerThread| !frames::is_lending() && is_here(worker);
        if let Some(worker) = self.0.take().filter(is_ours) {
            during_adoption(|| worker.abandon());
            leave_turns(worker);
            worker.registry().data().threads.abandon();
        }
    }
}

/// Whether the worker is one in this process. In a child of it the thread is none.
fn is_here(worker: &&'static WorkerThread) -> bool {
    fork::is_here(worker.registry())
}

/// Calls a closure with the cell of this thread. Returns None while the thread ends.
fn with_adopted<R>(closure: impl FnOnce(&Cell<Option<&'static WorkerThread>>) -> R) -> Option<R> {
    ADOPTED.try_with(|adopted| closure(&adopted.0)).ok()
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
    let is_adopted = with_adopted(|adopted| adopted.get().as_ref().is_some_and(is_here));
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
    let worker: &'static WorkerThread = Box::leak(Box::new(worker));
    // SAFETY: 1. it stays for good, but for `release`, where it leaves.
    during_adoption(|| unsafe { worker.enter() });
    with_adopted(|adopted| adopted.set(Some(worker)));
    with_member(worker, |membership, member| membership.turns.adopt(member));
    Ok(())
}

/// Returns the worker of this thread, if the pool has adopted the thread.
fn adopted_by(registry: &Registry) -> Option<&'static WorkerThread> {
    with_adopted(Cell::get)
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
    // Closures that help to build a pool may have spawned jobs. Other workers can take them, but
    // not the jobs of a broadcast for this worker.
    worker.run_local_jobs();
    during_adoption(|| worker.leave());
    leave_turns(worker);
    with_adopted(|adopted| adopted.set(None));
    let registry = worker.registry_pointer();
    let worker: *const WorkerThread = worker;
    // SAFETY: both come from `adopt`, in this order, and are taken back once. No frame uses the
    // worker any more: it was adopted by the build that now fails, and whatever that has called has
    // returned. So no latch of a frame leads to it either.
    unsafe {
        drop(Box::from_raw(worker.cast_mut()));
        drop(Arc::from_raw(registry));
    }
}
