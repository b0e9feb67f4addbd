//! How a worker waits: it runs other jobs, searches for some, and sleeps when there are none.

use core::{mem, ptr};

use sleep_core::{CoreLatch, Hint, Parker as _, Purpose, WorkerIndex};

use crate::{
    deadlock::DeadlockDetection as _, job::JobRef, metrics::Observer as _, platform::Platform,
    registry::sleep::IdleSession, unwind::no_unwind, worker::WorkerThread,
};

/// The thread that sets a latch, and where the worker waits for it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Setter {
    /// A worker of the same pool.
    Worker,
    /// Any other thread.
    Outside,
    /// Any thread, which requests the worker to stop. The worker waits at top level, below no job.
    Stop,
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

    /// Runs jobs until this worker is requested to stop. While it sleeps, a guest may take its seat.
    ///
    /// # Safety
    /// 1. As for [`run_until_stopped`](Self::run_until_stopped).
    pub(super) unsafe fn wait_for_stop(&self) {
        let latch = self.shared().terminate();
        if !latch.probe() {
            self.wait_until_cold(latch, Setter::Stop);
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
                    .or_else(|| self.search_uncounted())
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
        // This worker has just found its own deque empty.
        self.shared().forget_posted();
        let mut idle = self.begin_idle(setter);
        let mut hint = Hint::Unknown;
        // Since the worker was last woken, it has found nothing.
        let mut is_fruitless = false;
        // The worker was woken, and has not searched since.
        let mut is_just_woken = false;
        let job = loop {
            if latch.probe() {
                break None;
            }
            let found = match mem::take(&mut hint) {
                Hint::Unknown => self.find_work(),
                hint => self.find_work_at(hint),
            };
            match found {
                Some(job) => break Some(job),
                None => {
                    if mem::take(&mut is_just_woken) {
                        observer.on_idle(P::now);
                    }
                    if let Some(session) = self.run_due_operations(idle) {
                        idle = session;
                    } else {
                        idle = self.begin_idle(setter);
                        is_fruitless = false;
                        continue;
                    }
                    // Thread progress may just have called code that queued jobs on this deque. Once this worker is
                    // registered as a sleeper, others would not find them.
                    if self.has_pending_jobs() {
                        continue;
                    }
                    let (mut has_slept, mut is_relied_on) = (false, false);
                    let mut holds_operations = false;
                    let mut has_vacated = false;
                    // Before the worker may register as a sleeper.
                    let was_left_out = self.begin_no_work_found();
                    hint = idle.no_work_found(latch, || {
                        let look = self.check_sources_before_sleep();
                        is_relied_on = look.is_relied_on;
                        holds_operations = look.holds_operations;
                        if !look.has_work {
                            // The next thing that the worker does is to park.
                            if is_fruitless {
                                observer.on_fruitless_wake();
                            }
                            observer.on_sleep(P::now);
                            has_slept = true;
                            if setter != Setter::Outside {
                                self.note_sleep(latch);
                            }
                            P::release_thread(self.registry());
                            // Last: from here on a guest may be the worker.
                            has_vacated = setter == Setter::Stop && self.vacate_seat();
                        }
                        look.has_work
                    });
                    if has_vacated {
                        self.reclaim_seat();
                    }
                    self.may_be_left_out.set(was_left_out);
                    if is_relied_on {
                        self.pass_on_found_jobs();
                    }
                    if holds_operations {
                        self.leave_operations();
                    }
                    if has_slept {
                        self.registry().deadlock().wake_up(self.index());
                        P::acquire_thread(self.registry());
                        observer.on_wake(P::now);
                        (is_fruitless, is_just_woken) = (true, true);
                    }
                }
            }
        };
        self.end_search(idle);
        job
    }

    /// Begins a search. A worker of this pool that sets the latch is running the job that this one waits for, and that
    /// will end soon, more likely than not. Another thread may take any time.
    fn begin_idle(&self, setter: Setter) -> IdleSession<'_, P> {
        let purpose = match setter {
            Setter::Worker => Purpose::Wait,
            Setter::Outside | Setter::Stop => Purpose::Job,
        };
        self.registry().begin_idle(self.index(), purpose)
    }

    /// Prepares this worker to register as a sleeper: others may leave its deque, which is empty, out of their searches
    /// then. Disables its fast push, so that the worker announces its next job. If its own parker queues that job, the
    /// worker also wakes itself.
    ///
    /// Returns whether the worker was registered before: then its parker searches.
    fn begin_no_work_found(&self) -> bool {
        debug_assert!(self.own().is_empty(), "others would not find these jobs");
        self.shared().deque().disable_fast_push();
        self.may_be_left_out.replace(true)
    }

    /// Returns this worker, unless it is registered as a sleeper: then its own parker searches.
    pub(crate) fn awake_index(&self) -> Option<WorkerIndex> {
        (!self.may_be_left_out.get()).then_some(self.index())
    }

    /// Leaves this worker to guests while its thread sleeps, if the pool has guests and this thread is the host: below
    /// a guest are frames that use the worker. Returns whether it does.
    /// Then this thread must not use the worker until it has [reclaimed](Self::reclaim_seat) it. For what lies below the
    /// loop, its caller has promised that.
    fn vacate_seat(&self) -> bool {
        let has_guests = P::has_guests(self.registry()) && self.shared().seat().is_hosts();
        if has_guests {
            // The parker, or the protocol, may call functions of the pool on this thread.
            //
            // SAFETY: 1. the pointer is null.
            unsafe { P::set_current(ptr::null()) };
            self.may_be_left_out.set(false);
            self.shared().seat().vacate(self);
        }
        has_guests
    }

    /// Waits until no guest is this worker, and makes this thread the worker again.
    fn reclaim_seat(&self) {
        // While a guest is the worker, we read only what never changes.
        let seat = self.shared().seat();
        // Liveness: a guest vacates the seat when its closure ends, without waiting for this thread. It does so
        // before it lets the protocol wake this thread, so a protocol that keeps its promises makes this loop
        // end at once. A guest that comes in between does the same.
        while !seat.reclaim(self) {
            self.parker().relax();
        }
        // SAFETY: 1. it was the thread's worker until `vacate_seat`, and stays in place until it leaves.
        unsafe { P::set_current(self) };
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
        idle.end(|| self.has_work_to_pass_on());
        self.observer().on_active(P::now);
    }
}
