//! The jobs of a scope that no worker has queued, while its worker waits in isolation.
//!
//! In its wait that worker looks at no queue that all workers share. But it may be the only one
//! that could run such a job. And while it is busy in the scope's body, only another one can. So
//! the job is in a queue of the scope, which the worker looks at when it waits for the scope, and a
//! stand-in in the pool's injector leads any other worker there.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use pool_core::{Isolation, Job, JobHeader, JobRef};

use crate::{
    api::spawn::NO_NODE,
    panics::lock,
    platform::{Registry, WorkerThread},
};

/// The jobs of a scope that no worker has queued. Outlives the scope if stand-ins are left, which
/// find it empty.
pub(super) struct OutsideJobs {
    /// In the order in which they were spawned.
    jobs: Mutex<VecDeque<JobRef>>,
    /// What the scope's worker may run while it waits, and so those that run these jobs.
    isolation: Isolation,
}

impl OutsideJobs {
    pub(super) fn new(isolation: Isolation) -> Arc<Self> {
        Arc::new(Self {
            jobs: Mutex::default(),
            isolation,
        })
    }

    /// Takes the oldest job.
    pub(super) fn take(&self) -> Option<JobRef> {
        lock(&self.jobs).pop_front()
    }

    /// Queues a job, and a stand-in for it in the pool's injector.
    ///
    /// # Safety
    /// 1. The reference is used for this alone.
    /// 2. The pool has a reference until the call returns.
    pub(super) unsafe fn push(self: &Arc<Self>, registry: &Registry, job: JobRef) {
        let stand_in = Box::new(StandIn {
            header: JobHeader::new::<StandIn>(),
            jobs: self.clone(),
        });
        // The stand-in may outlast the scope, and the pool's end waits for it.
        registry.add_reference();
        lock(&self.jobs).push_back(job);
        // SAFETY: `new`: 1. `execute` frees it; 2. any thread may. `inject`: 1. the queue needs no
        // node.
        unsafe { registry.inject(NO_NODE, JobRef::new(Box::into_raw(stand_in))) };
    }
}

/// A job that runs the oldest one of a scope's queue, if there is one.
#[repr(C)]
struct StandIn {
    header: JobHeader,
    jobs: Arc<OutsideJobs>,
}

// SAFETY: 1. the header comes first, and is made for `Self`.
unsafe impl Job for StandIn {
    unsafe fn execute(this: *const ()) {
        // SAFETY: it came out of a box, and by obligation 2 this is the only call.
        let this = unsafe { Box::from_raw(this.cast_mut().cast::<Self>()) };
        // SAFETY: 1. this thread stays the worker until the call returns.
        let worker = unsafe { WorkerThread::current() }.expect("workers take injected jobs");
        if let Some(job) = this.jobs.take() {
            // SAFETY: 1. the queue gave it to us alone.
            worker.isolate(this.jobs.isolation, || unsafe { job.execute() });
        }
        drop(this);
        worker.registry().remove_reference();
    }
}
