//! Jobs on the heap, as `pool-std` spawns them.

use std::ptr::NonNull;

use pool_core::{Job, JobHeader, JobRef, Registry, WorkerIndex, WorkerThread};

use crate::{platform::Virtual, protocol::Protocol};

/// A closure in a box that the execution frees.
#[repr(C)]
struct HeapJob<F> {
    header: JobHeader,
    closure: F,
}

// SAFETY: 1. the header comes first; `job` makes it for this type.
unsafe impl<F: FnOnce() + Send + 'static> Job for HeapJob<F> {
    unsafe fn execute(this: *const ()) {
        // SAFETY: by obligations 1 and 2 this is the box of `job`, and used once.
        let this = unsafe { Box::from_raw(this.cast_mut().cast::<Self>()) };
        (this.closure)();
    }
}

fn job<F: FnOnce() + Send + 'static>(closure: F) -> JobRef {
    let job = HeapJob {
        header: JobHeader::new::<HeapJob<F>>(),
        closure,
    };
    // SAFETY: 1. the box lives until the job is run; 2. the closure is `Send`.
    unsafe { JobRef::new(Box::into_raw(Box::new(job))) }
}

/// Gives a pool a job from outside.
pub fn inject<K: Protocol>(
    registry: &Registry<Virtual<K>>,
    closure: impl FnOnce() + Send + 'static,
) {
    // SAFETY: 1. the queue needs no node.
    unsafe { registry.inject(NonNull::dangling(), job(closure)) };
}

/// Gives a pool jobs from outside, in one call.
pub fn inject_many<K: Protocol, F: FnOnce() + Send + 'static>(
    registry: &Registry<Virtual<K>>,
    closures: impl IntoIterator<Item = F>,
) {
    let jobs = closures
        .into_iter()
        .map(|closure| (NonNull::dangling(), job(closure)));
    // SAFETY: 1. the queue needs no nodes.
    unsafe { registry.inject_many(jobs) };
}

/// Gives one worker a job that it alone may run.
pub fn inject_for<K: Protocol>(
    registry: &Registry<Virtual<K>>,
    worker: WorkerIndex,
    closure: impl FnOnce() + Send + 'static,
) {
    // SAFETY: 1. the queue needs no node.
    unsafe { registry.inject_for(worker, NonNull::dangling(), job(closure)) };
}

/// Queues a job on a worker's own deque.
pub fn post<K: Protocol>(
    worker: &WorkerThread<Virtual<K>>,
    closure: impl FnOnce() + Send + 'static,
) {
    // SAFETY: 1. the reference is used once, by the deque or at once.
    unsafe { worker.post(job(closure)) };
}
