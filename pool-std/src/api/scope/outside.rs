//! The jobs of a scope that no worker has queued, while its worker waits in isolation.
//!
//! In its wait that worker looks at no queue that all workers share. But it may be the only one
//! that could run such a job. And while it is busy in the scope's body, only another one can. So
//! the job is in a queue of the scope, which the worker looks at when it waits for the scope, and a
//! stand-in in the pool's injector leads any other worker there.

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use pool_core::{Job, JobHeader, JobRef};

use crate::{
    api::spawn::NO_NODE,
    fork,
    platform::{Registry, WorkerThread},
    sync::{Mutex, lock},
};

#[cfg(test)]
mod tests;

/// The jobs of a scope that no worker has queued.
#[derive(Default)]
pub(crate) struct OutsideJobs(Mutex<Queue>);

#[derive(Default)]
struct Queue {
    /// In the order in which they were spawned.
    jobs: VecDeque<JobRef>,
    /// Whether the pool's list has the scope.
    is_listed: bool,
}

impl OutsideJobs {
    /// Takes the oldest job.
    pub(super) fn take(&self) -> Option<JobRef> {
        lock(&self.0).jobs.pop_front()
    }

    /// Queues a job, and sees to it that other workers find it.
    ///
    /// # Safety
    /// 1. The reference is used for this alone.
    /// 2. The pool has a reference until the call returns.
    pub(super) unsafe fn push(self: &Arc<Self>, registry: &Registry, job: JobRef) {
        let mut queue = lock(&self.0);
        queue.jobs.push_back(job);
        let is_listed = std::mem::replace(&mut queue.is_listed, true);
        drop(queue);
        let scope = (!is_listed).then(|| self.clone());
        registry.data().outside_scopes.add(registry, scope);
    }

    /// Forgets the scope, which has ended. In a child of the pool's process does nothing: a thread
    /// of the parent may have locked the list.
    pub(super) fn end(self: &Arc<Self>, registry: &Registry) {
        if !fork::is_own_process(registry) {
            return;
        }
        // The list is locked before a queue in it, elsewhere.
        let is_listed = lock(&self.0).is_listed;
        if is_listed {
            registry.data().outside_scopes.remove(self);
        }
    }

    /// Takes the oldest job for another worker, and says whether the pool's list keeps the scope.
    fn take_for_others(&self) -> (Option<JobRef>, bool) {
        let mut queue = lock(&self.0);
        let job = queue.jobs.pop_front();
        queue.is_listed = !queue.jobs.is_empty();
        (job, queue.is_listed)
    }
}

/// The scopes of a pool that have such jobs, and the stand-ins for these.
pub(crate) struct OutsideScopes {
    list: Mutex<VecDeque<Arc<OutsideJobs>>>,
    /// How many stand-ins are in the injector: no more than there are workers, however many scopes
    /// have ended since. Changed with the list.
    num_stand_ins: AtomicUsize,
    stand_in: StandIn,
}

impl Default for OutsideScopes {
    fn default() -> Self {
        Self {
            list: Mutex::default(),
            num_stand_ins: AtomicUsize::new(0),
            stand_in: StandIn(JobHeader::new::<StandIn>()),
        }
    }
}

impl OutsideScopes {
    /// Returns how many jobs are queued for a pool with `num_injected` entries in its injector.
    /// Both numbers may be out of date. Does not wait, because it is for reports of programs
    /// that hang, too.
    pub(crate) fn num_jobs(&self, num_injected: usize) -> usize {
        let Ok(list) = self.list.try_lock() else {
            return num_injected;
        };
        let jobs_of = |scope: &Arc<OutsideJobs>| scope.0.try_lock().map_or(0, |it| it.jobs.len());
        let of_scopes: usize = list.iter().map(jobs_of).sum();
        num_injected.saturating_sub(self.num_stand_ins()) + of_scopes
    }

    /// Returns how many stand-ins are in the injector, or on the way into it or out of it.
    fn num_stand_ins(&self) -> usize {
        self.num_stand_ins.load(Ordering::Relaxed)
    }

    /// Queues a stand-in for a job of a scope, unless there are enough. `scope` is passed if it is
    /// not in the list yet.
    fn add(&self, registry: &Registry, scope: Option<Arc<OutsideJobs>>) {
        let mut list = lock(&self.list);
        list.extend(scope);
        let is_counted = self.count_stand_in(registry);
        drop(list);
        if is_counted {
            self.inject_stand_in(registry);
        }
    }

    fn remove(&self, scope: &Arc<OutsideJobs>) {
        lock(&self.list).retain(|other| !Arc::ptr_eq(scope, other));
    }

    /// Takes a job for a stand-in that is run, and puts another stand-in into its place if there
    /// are more jobs.
    fn take(&self, registry: &Registry) -> Option<JobRef> {
        let mut list = lock(&self.list);
        self.num_stand_ins.fetch_sub(1, Ordering::Relaxed);
        let mut job = None;
        while job.is_none()
            && let Some(scope) = list.pop_front()
        {
            let (taken, has_more) = scope.take_for_others();
            job = taken;
            // Behind the others, in turn.
            list.extend(has_more.then_some(scope));
        }
        let is_counted = !list.is_empty() && self.count_stand_in(registry);
        drop(list);
        if is_counted {
            self.inject_stand_in(registry);
        }
        job
    }

    /// Counts another stand-in, unless there are enough. For a caller that has locked the list.
    fn count_stand_in(&self, registry: &Registry) -> bool {
        let is_wanted = self.num_stand_ins() < registry.num_workers();
        if is_wanted {
            self.num_stand_ins.fetch_add(1, Ordering::Relaxed);
        }
        is_wanted
    }

    fn inject_stand_in(&self, registry: &Registry) {
        // SAFETY: `new`: 1. it lives as long as the pool, whose workers alone run it, and is the
        // same after that; 2. any thread may. `inject`: 1. the queue needs no node.
        unsafe { registry.inject(NO_NODE, JobRef::new(&raw const self.stand_in)) };
    }
}

/// A job that runs the oldest one of a scope's queue, if there is one. It may be in the injector
/// several times. It has no reference to the pool: if there is a job, the scope has one, and a pool
/// may end while a stand-in is left.
#[repr(C)]
struct StandIn(JobHeader);

// SAFETY: 1. the header comes first, and is made for `Self`.
unsafe impl Job for StandIn {
    unsafe fn execute(_this: *const ()) {
        // SAFETY: 1. this thread stays the worker until the call returns.
        let worker = unsafe { WorkerThread::current() }.expect("workers take injected jobs");
        let registry = worker.registry();
        if let Some(job) = registry.data().outside_scopes.take(registry) {
            // SAFETY: 1. the queue gave it to us alone.
            unsafe { job.execute() };
        }
    }
}
