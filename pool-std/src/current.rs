//! A pool's worker on a thread that the pool did not start.

use std::{cell::RefCell, sync::Arc};

use crate::{
    error::BuildError,
    platform::{Registry, WorkerThread},
};

thread_local! {
    static ADOPTED: RefCell<Option<Adopted>> = const { RefCell::new(None) };
}

/// A worker, and the pool that it must not outlive.
struct Adopted {
    /// From a box.
    worker: *const WorkerThread,
    registry: Arc<Registry>,
}

impl Drop for Adopted {
    fn drop(&mut self) {
        // SAFETY: it came from a box, and this is the only owner.
        let worker = unsafe { &*self.worker };
        // Others can take the rest, but not what is for this worker alone.
        worker.run_local_jobs();
        worker.leave();
        // SAFETY: as above. The thread ends, or the pool was never built: no frame uses the worker
        // any more, and no job finds it.
        drop(unsafe { Box::from_raw(self.worker.cast_mut()) });
    }
}

/// Makes this thread worker 0 of a pool, until the thread ends.
///
/// Not only until the pool ends: a frame further up may be using the worker when the pool's owner
/// lets go of it.
pub(crate) fn adopt(registry: &Arc<Registry>) -> Result<(), BuildError> {
    ADOPTED.with_borrow_mut(|adopted| {
        // SAFETY: 1. it is only compared.
        if adopted.is_some() || unsafe { WorkerThread::current() }.is_some() {
            return Err(BuildError::CurrentThreadAlreadyInPool);
        }
        let index = registry.worker(0).expect("a pool has at least one worker");
        // SAFETY: 1. the registry is held beside the worker; 2. it is the `Arc`'s pointer.
        let worker = unsafe { WorkerThread::new(Arc::as_ptr(registry), index) };
        let worker: *const _ = Box::into_raw(Box::new(worker.expect("the pool is new")));
        // SAFETY: 1. the worker stays until the thread ends, and leaves before it goes.
        unsafe { (*worker).enter() };
        *adopted = Some(Adopted {
            worker,
            registry: registry.clone(),
        });
        Ok(())
    })
}

/// Whether this thread is a worker of the pool by [`adopt`].
pub(crate) fn is_adopted_by(registry: &Arc<Registry>) -> bool {
    ADOPTED.with_borrow(|adopted| {
        adopted
            .as_ref()
            .is_some_and(|adopted| Arc::ptr_eq(&adopted.registry, registry))
    })
}

/// Takes back an adoption of this thread by a pool that could not be built.
pub(crate) fn release(registry: &Arc<Registry>) {
    if is_adopted_by(registry) {
        // Dropped outside the cell: a job that is run then may look at it.
        drop(ADOPTED.take());
    }
}
