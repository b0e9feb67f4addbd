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

use pool_core::{Job, JobHeader, JobRef};

use crate::{
    api::spawn::NO_NODE,
    panics::lock,
    platform::{Registry, WorkerThread},
};

/// The jobs of a scope that no worker has queued. Outlives the scope if stand-ins are left, which
/// find it empty.
pub(super) struct OutsideJobs {
    queue: Mutex<Queue>,
}

#[derive(Default)]
struct Queue {
    /// In the order in which they were spawned.
    jobs: VecDeque<JobRef>,
    /// How many stand-ins are in the injector. No more than there are workers: one that leaves
    /// jobs queues another one.
    stand_ins: usize,
}

impl OutsideJobs {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            queue: Mutex::default(),
        })
    }

    /// Takes the oldest job.
    pub(super) fn take(&self) -> Option<JobRef> {
        lock(&self.queue).jobs.pop_front()
    }

    /// Queues a job, and a stand-in for it in the pool's injector.
    ///
    /// # Safety
    /// 1. The reference is used for this alone.
    /// 2. The pool has a reference until the call returns.
    pub(super) unsafe fn push(self: &Arc<Self>, registry: &Registry, job: JobRef) {
        let mut queue = lock(&self.queue);
        queue.jobs.push_back(job);
        let is_wanted = queue.stand_ins < registry.num_workers();
        queue.stand_ins += usize::from(is_wanted);
        drop(queue);
        if is_wanted {
            self.inject_stand_in(registry);
        }
    }

    fn inject_stand_in(self: &Arc<Self>, registry: &Registry) {
        let stand_in = Box::new(StandIn {
            header: JobHeader::new::<StandIn>(),
            jobs: self.clone(),
        });
        // SAFETY: `new`: 1. `execute` frees it; 2. any thread may. `inject`: 1. the queue needs no
        // node.
        unsafe { registry.inject(NO_NODE, JobRef::new(Box::into_raw(stand_in))) };
    }

    /// Takes the oldest job for a stand-in that begins, and says whether there are more jobs than
    /// stand-ins, so that there must be another one.
    fn take_for_stand_in(&self) -> (Option<JobRef>, bool) {
        let mut queue = lock(&self.queue);
        let job = queue.jobs.pop_front();
        queue.stand_ins -= 1;
        let leaves_more = queue.jobs.len() > queue.stand_ins;
        queue.stand_ins += usize::from(leaves_more);
        (job, leaves_more)
    }
}

/// A job that runs the oldest one of a scope's queue, if there is one. It has no reference to the
/// pool: if there is a job, the scope has one, and a pool may end while a stand-in is left.
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
        let (job, leaves_more) = this.jobs.take_for_stand_in();
        if leaves_more {
            // Before the job, which may take its time.
            this.jobs.inject_stand_in(worker.registry());
        }
        if let Some(job) = job {
            // SAFETY: 1. the queue gave it to us alone.
            unsafe { job.execute() };
        }
    }
}
