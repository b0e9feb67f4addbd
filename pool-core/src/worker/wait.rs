//! How a worker waits: it runs other jobs, searches for some, and sleeps when there are none.

use sleep_core::CoreLatch;

use crate::{
    deadlock::DeadlockDetection as _, job::JobRef, metrics::Observer as _, platform::Platform,
    registry::sleep::IdleSession, unwind::no_unwind, worker::WorkerThread,
};

/// The thread that sets a latch.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Setter {
    /// A worker of the same pool.
    Worker,
    /// Any other thread.
    Outside,
}

impl<P: Platform> WorkerThread<P> {
    /// Runs other jobs until the latch is set, and sleeps when there are none.
    #[inline]
    pub fn wait_until(&self, latch: &CoreLatch) {
        if !latch.probe() {
            self.wait_until_cold(latch, Setter::Worker);
        }
    }

    /// Runs other jobs as [`wait_until`](Self::wait_until) does, until a latch is set that is not set by a
    /// worker of this pool: by another pool, or by any other thread.
    ///
    /// For the detection of deadlocks, this worker stays active while it sleeps here. What it waits for
    /// comes from outside, whatever the workers of this pool do.
    pub fn wait_for_outside(&self, latch: &CoreLatch) {
        if !latch.probe() {
            self.wait_until_cold(latch, Setter::Outside);
        }
    }

    #[cold]
    fn wait_until_cold(&self, latch: &CoreLatch, setter: Setter) {
        // The frame that waits holds jobs, or the latch.
        no_unwind(|| {
            while !latch.probe() {
                let job = self
                    .take_local_job()
                    .or_else(|| self.take_again())
                    .or_else(|| self.search(latch, setter));
                match job {
                    // SAFETY: 1. the queue gave it to us alone.
                    Some(job) => unsafe { self.run(job) },
                    None => return,
                }
            }
        });
    }

    /// Searches everywhere until there is a job, or until the latch is set (`None`).
    fn search(&self, latch: &CoreLatch, setter: Setter) -> Option<JobRef> {
        let observer = self.observer();
        observer.on_idle(P::now);
        let mut idle = self.registry().begin_idle(self.index());
        // Since the worker was last woken, it has found nothing.
        let mut is_fruitless = false;
        let job = loop {
            if latch.probe() {
                break None;
            }
            let found = match idle.take_hint() {
                None => self.find_work(),
                Some(hint) => self.find_work_at(hint),
            };
            match found {
                Some(job) => break Some(job),
                None => {
                    if let Some(session) = self.run_due_operations(idle) {
                        idle = session;
                    } else {
                        idle = self.registry().begin_idle(self.index());
                        is_fruitless = false;
                        continue;
                    }
                    let (mut has_slept, mut is_relied_on) = (false, false);
                    idle.no_work_found(latch, || {
                        let look = self.check_sources_before_sleep();
                        is_relied_on = look.is_relied_on;
                        if !look.has_work {
                            // The next thing that the worker does is to park.
                            if is_fruitless {
                                observer.on_fruitless_wake();
                            }
                            observer.on_sleep(P::now);
                            has_slept = true;
                            if setter == Setter::Worker {
                                self.note_sleep(latch);
                            }
                            P::release_thread(self.registry());
                        }
                        look.has_work
                    });
                    if is_relied_on {
                        self.pass_on_found_jobs();
                    }
                    if has_slept {
                        self.registry().deadlock().wake_up(self.index());
                        P::acquire_thread(self.registry());
                        observer.on_wake(P::now);
                        is_fruitless = true;
                    }
                }
            }
        };
        self.end_search(idle);
        job
    }

    /// Makes progress, and runs operations that are due. Returns the session if there was none.
    ///
    /// An operation may take as long as a job, and may wait for one. So the worker ends its session before:
    /// a poster must not count on a worker that runs an operation.
    fn run_due_operations<'r>(&self, idle: IdleSession<'r, P>) -> Option<IdleSession<'r, P>> {
        let mut idle = Some(idle);
        self.run_operations(self.make_progress(), || {
            if let Some(idle) = idle.take() {
                self.end_search(idle);
            }
        });
        if idle.is_none() {
            self.observer().on_idle(P::now);
        }
        idle
    }

    /// Notes that the worker stops searching.
    fn end_search(&self, idle: IdleSession<'_, P>) {
        idle.end(|| self.has_work_for_others());
        self.observer().on_active(P::now);
    }
}
