//! A closure that finds the arena of its scope full, while the worker that waits for the scope is
//! isolated. It was spawned by a core that is not a worker of the pool.
//!
//! The isolated worker takes such closures from the scope's own queue, where they need a cell.
//! Other workers look into that queue only if a task leads them there. So the core waits for
//! whichever comes first: a free cell, or a worker that is not isolated. It could not take back a
//! closure that it has injected. So it leaves the closure in one place of the pool, from which it
//! can take it back, and injects a task that leads a worker to that place.

use core::{mem::ManuallyDrop, ptr};

use pool_core::{Job, JobHeader, JobRef, Platform, Registry, Waiter as _, WorkerThread};

use super::{
    arena::{Slot, Spawned},
    platform::run,
    system::System,
    task::Task,
    worker::Worker,
};
use crate::primitive::{AtomicBool, AtomicPtr, Ordering};

/// The place of a pool at which one closure waits for a worker.
pub(crate) struct Overflow<S: System> {
    /// Null, or a job in the frame of a core that waits.
    waiting: AtomicPtr<JobRef>,
    /// Runs the closure that waits.
    task: Task<S>,
}

impl<S: System> Overflow<S> {
    pub(crate) const fn new() -> Self {
        Self {
            waiting: AtomicPtr::new(ptr::null_mut()),
            task: Task::new(run_waiting),
        }
    }

    /// Leaves a job at the place, and calls a worker. Returns whether the place was free.
    fn offer(&self, registry: &Registry<S>, job: *const JobRef) -> bool {
        // Ordering: Release pairs with `take`. Relaxed on failure: nothing is left.
        let offered = self.waiting.compare_exchange(
            ptr::null_mut(),
            job.cast_mut(),
            Ordering::Release,
            Ordering::Relaxed,
        );
        if offered.is_ok() {
            // If the task is already spawned, its pending run finds the job. If the pool has ended,
            // its other workers leave.
            //
            // SAFETY: 1. The pool is in a static.
            let _ = unsafe { self.task.spawn_on(registry) };
        }
        offered.is_ok()
    }

    /// Takes a job back. Returns false if a worker has it.
    fn withdraw(&self, job: *const JobRef) -> bool {
        // Ordering: Relaxed; no other thread has read the job.
        let withdrawn = self.waiting.compare_exchange(
            job.cast_mut(),
            ptr::null_mut(),
            Ordering::Relaxed,
            Ordering::Relaxed,
        );
        withdrawn.is_ok()
    }

    fn take(&self) -> Option<JobRef> {
        // Ordering: Acquire pairs with `offer`.
        let job = self.waiting.swap(ptr::null_mut(), Ordering::Acquire);
        // SAFETY: the core that has left the job waits until the job has run.
        unsafe { job.as_ref() }.copied()
    }
}

/// Runs the closure that waits, if there is one.
fn run_waiting<S: System>(worker: Worker<'_, S>) {
    if let Some(job) = worker.0.registry().data().overflow.take() {
        // SAFETY: 1. The job was taken from the only place where it was.
        unsafe { job.execute() };
    }
}

/// Waits until a worker has run a closure, or returns the closure if a cell seems to be free.
pub(crate) fn run_unless_there_is_room<S: System, J: Spawned>(
    registry: &Registry<S>,
    slots: &[Slot],
    spawned: J,
) -> Result<(), J> {
    let overflow = &registry.data().overflow;
    let job = WaitingJob {
        header: JobHeader::new::<WaitingJob<J>>(),
        spawned: ManuallyDrop::new(spawned),
        has_run: AtomicBool::new(false),
    };
    // SAFETY: 1. The job stays in this frame until it has run, or was taken back. 2. The closure is
    // `Send`.
    let reference = unsafe { JobRef::new(&raw const job) };
    let place = &raw const reference;
    let mut is_offered = false;
    // This frame must not be left while a worker may find the job.
    let has_run = run(|| {
        loop {
            is_offered = is_offered || overflow.offer(registry, place);
            // Ordering: Acquire pairs with `execute`: the last use of this frame comes before.
            if job.has_run.load(Ordering::Acquire) {
                return true;
            }
            if Slot::any_is_free(slots) && (!is_offered || overflow.withdraw(place)) {
                return false;
            }
            // Liveness: a worker that is not isolated runs the task, or an isolated worker takes
            // closures from their cells when it waits for the scope.
            let_others_run::<S>();
        }
    });
    if has_run {
        Ok(())
    } else {
        Err(ManuallyDrop::into_inner(job.spawned))
    }
}

/// Waits for a moment. A worker of another pool runs the jobs that it may run in a wait.
fn let_others_run<S: System>() {
    // SAFETY: 1. The reference is used at once.
    let worker = unsafe { WorkerThread::<S>::current() };
    if !worker.is_some_and(WorkerThread::help) {
        <S as Platform>::Waiter::park();
    }
}

/// A closure in the frame of a core that waits.
#[repr(C)]
struct WaitingJob<J> {
    header: JobHeader,
    spawned: ManuallyDrop<J>,
    has_run: AtomicBool,
}

// SAFETY: 1. The header is the first field; it is made for this type.
unsafe impl<J: Spawned> Job for WaitingJob<J> {
    unsafe fn execute(this: *const ()) {
        let this = this.cast::<Self>();
        // SAFETY: by obligations 1 and 2, the job is valid until the flag is set, and is moved out
        // once. `Spawned::run`: 1. The frame does not use it any more.
        unsafe {
            J::run((&raw const (*this).spawned).cast());
            // Ordering: Release pairs with the wait for the flag.
            (*this).has_run.store(true, Ordering::Release);
        }
    }
}
