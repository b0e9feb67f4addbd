//! A pool's worker on a thread that the pool did not start.

use std::{cell::RefCell, sync::Arc};

use crate::{
    error::BuildError,
    platform::{Registry, WorkerThread},
};

thread_local! {
    static ADOPTED: RefCell<Option<Adopted>> = const { RefCell::new(None) };
}

/// A worker and what it refers to, dropped in this order.
struct Adopted {
    worker: Box<WorkerThread>,
    _registry: Arc<Registry>,
}

impl Drop for Adopted {
    fn drop(&mut self) {
        self.worker.leave();
    }
}

/// Makes this thread worker 0 of a pool, until the thread ends.
///
/// Not only until the pool ends: a frame further up may be using the worker when the pool's owner
/// lets go of it.
pub(crate) fn adopt(registry: &Arc<Registry>) -> Result<(), BuildError> {
    let index = registry.worker(0).expect("a pool has at least one worker");
    // SAFETY: 1. the registry is held beside the worker; 2. it is the `Arc`'s pointer.
    let worker = unsafe { WorkerThread::new(Arc::as_ptr(registry), index) };
    let worker = Box::new(worker.expect("the pool is new"));
    ADOPTED.with(|adopted| {
        // SAFETY: 1. the box stays until the thread ends, and leaves before it goes.
        unsafe { worker.enter() };
        *adopted.borrow_mut() = Some(Adopted {
            worker,
            _registry: registry.clone(),
        });
    });
    Ok(())
}

/// Runs what is left to do for a pool that this thread belongs to, until the pool has ended.
/// False if the thread does not belong to it by [`adopt`].
pub(crate) fn run_until_terminated(registry: &Arc<Registry>) -> bool {
    let worker: Option<*const WorkerThread> = ADOPTED.with_borrow(|adopted| {
        let adopted = adopted.as_ref()?;
        Arc::ptr_eq(&adopted._registry, registry).then_some(&raw const *adopted.worker)
    });
    let Some(worker) = worker else { return false };
    // The cell is not borrowed meanwhile: jobs may look at it too.
    //
    // SAFETY: the box stays until this thread ends.
    unsafe { &*worker }.run_until_terminated();
    true
}

/// Takes back an adoption of this thread by a pool that could not be built.
pub(crate) fn release(registry: &Arc<Registry>) {
    ADOPTED.with_borrow_mut(|adopted| {
        if adopted
            .as_ref()
            .is_some_and(|adopted| Arc::ptr_eq(&adopted._registry, registry))
        {
            *adopted = None;
        }
    });
}
