//! How a worker waits: it runs other jobs, searches for some, and sleeps when there are none.

use deque_core::Position;
use sleep_core::CoreLatch;

use crate::{
    isolation::Isolation,
    platform::Platform,
    unwind::no_unwind,
    worker::{
        WorkerThread,
        cold::{ColdPath, Path},
        idle::Setter,
        lineage::Found,
    },
};

/// Which jobs a worker waits for, and which it may run meanwhile.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Awaited {
    /// What the worker has pushed from this position on, and what descends from that.
    pub(crate) from: Position,
    pub(crate) isolation: Isolation,
    /// The scopes whose jobs it may run that no worker has queued.
    pub(super) outside: OutsideScopes,
}

/// Which of the open scopes of a worker's innermost job a wait in isolation looks at, for jobs that
/// no worker has queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutsideScopes {
    None,
    /// The one that it waits for.
    Innermost,
    All,
}

impl Awaited {
    /// Names jobs of these scopes, too.
    pub(crate) fn with_outside(self, outside: OutsideScopes) -> Self {
        Self { outside, ..self }
    }
}

impl<P: Platform> WorkerThread<P> {
    /// Names the jobs that this worker pushes from now on.
    pub(crate) fn await_from_now(&self) -> Awaited {
        self.await_from(self.own().next_position())
    }

    /// Names the jobs that this worker has pushed from a position on.
    pub(crate) fn await_from(&self, from: Position) -> Awaited {
        Awaited {
            from,
            isolation: self.isolation(),
            outside: OutsideScopes::None,
        }
    }

    /// Runs other jobs until the latch is set, and sleeps when there are none.
    ///
    /// In an [isolated](Self::isolate) job, this runs no jobs, because no job is known to descend
    /// from what sets the latch.
    #[inline]
    pub fn wait_until(&self, latch: &CoreLatch) {
        if !latch.probe() {
            self.wait_for(self.await_from_now(), latch);
        }
    }

    /// Runs other jobs as [`wait_until`](Self::wait_until) does, until the jobs have ended that it
    /// waits for, which sets the latch.
    pub(crate) fn wait_for(&self, awaited: Awaited, latch: &CoreLatch) {
        if !latch.probe() {
            self.wait_in_path(awaited, latch, Setter::Worker);
        }
    }

    /// Runs other jobs as [`wait_until`](Self::wait_until) does, until the latch is set by another
    /// pool, or by any other thread that is not a worker of this pool.
    ///
    /// For the deadlock detection, this worker stays active while it sleeps here, because what it
    /// waits for comes from outside, whatever the workers of this pool do.
    pub fn wait_for_outside(&self, latch: &CoreLatch) {
        if !latch.probe() {
            self.wait_in_path(self.await_from_now(), latch, Setter::Outside);
        }
    }

    /// Waits as [`wait_for_outside`](Self::wait_for_outside) does, for a job of any kind, perhaps
    /// one that a thread outside has spawned in a scope which the innermost job of this worker has
    /// opened.
    ///
    /// `isolation` is the answer of [`isolation`](Self::isolation). That answer can depend on the
    /// depth of the stack, so a caller that has acted on it must pass it on instead of asking
    /// again.
    pub fn wait_for_any_job(&self, isolation: Isolation, latch: &CoreLatch) {
        if !latch.probe() {
            self.wait_in_path(self.await_any_job(isolation), latch, Setter::Outside);
        }
    }

    /// Waits as [`wait_for_any_job`](Self::wait_for_any_job) does, for a job that a worker of this
    /// pool runs from its beginning to its end.
    ///
    /// For the detection of deadlocks, this worker sleeps here, as it does in a join.
    pub fn wait_for_own_job(&self, isolation: Isolation, latch: &CoreLatch) {
        if !latch.probe() {
            self.wait_in_path(self.await_any_job(isolation), latch, Setter::Worker);
        }
    }

    fn await_any_job(&self, isolation: Isolation) -> Awaited {
        Awaited {
            from: self.own().next_position(),
            isolation,
            outside: OutsideScopes::All,
        }
    }

    /// Runs any job until the latch is set, even in a pool whose waits are isolated: for a thread
    /// that is in no job, and waits for all jobs of its pool.
    pub fn wait_for_all_jobs(&self, latch: &CoreLatch) {
        if !latch.probe() {
            self.run_jobs_until(latch, Setter::Worker, true);
        }
    }

    /// Runs jobs until the closure of a lender has ended, for the thread that has borrowed the
    /// worker.
    ///
    /// It runs any job, whatever the lender's call allows: they are on a stack of their own, and
    /// the lender has said that its closure blocks. `lender` is what the lender may run while it
    /// waits.
    pub(crate) fn borrow_until(&self, closure_ended: &CoreLatch, lender: Isolation) {
        let run_jobs = || {
            if !closure_ended.probe() {
                self.run_jobs_until(closure_ended, Setter::Outside, true);
            }
        };
        match lender {
            Isolation::Anything => run_jobs(),
            _ => self.borrow_isolated(run_jobs),
        }
    }

    /// Runs jobs until this worker alone is [requested to stop](crate::Registry::request_stop) or
    /// the pool ends. Jobs that are queued on its deque stay there for others.
    ///
    /// While the worker sleeps in this call, a [guest](crate::Registry::try_call) may be the
    /// worker, on a thread of its own. Meanwhile this thread runs code of the parker and of the
    /// sleep protocol, which are safe to implement. [`Platform::current`] returns null to them. But
    /// a scoped thread-local variable that is set around this call would give them the worker, and
    /// two threads would pop one deque. So this call is unsafe:
    /// ```compile_fail,E0133
    /// fn run<P: pool_core::Platform>(worker: &pool_core::WorkerThread<P>) {
    ///     worker.run_until_stopped();
    /// }
    /// ```
    ///
    /// # Safety
    /// 1. If the platform [has guests](Platform::has_guests), this thread reaches the worker only
    ///    by [`Platform::current`] until the call returns, as jobs do. No parker and no sleep
    ///    protocol finds a reference to the worker that a frame below this call has left.
    #[doc(alias = "run_until_released")]
    pub unsafe fn run_until_stopped(&self) {
        let latch = &self.shared().terminate;
        if !latch.probe() {
            self.run_jobs_until(latch, Setter::Stop, true);
        }
    }

    #[cold]
    fn wait_in_path(&self, awaited: Awaited, latch: &CoreLatch, setter: Setter) {
        P::run_cold(ColdPath(Path::Wait(self, awaited, latch, setter)));
    }

    pub(super) fn wait_cold(&self, awaited: Awaited, latch: &CoreLatch, setter: Setter) {
        match awaited.isolation {
            Isolation::Anything => self.run_jobs_until(latch, setter, false),
            _ => self.wait_isolated(latch, awaited, setter),
        }
    }

    /// Runs any job until the latch is set. `is_at_top_level` says that no job is below on this
    /// stack, so that the worker takes [fair looks](crate::sources::FairLooks).
    fn run_jobs_until(&self, latch: &CoreLatch, setter: Setter, is_at_top_level: bool) {
        let outer = is_at_top_level.then(|| self.begin_top_level());
        // The frame that waits holds jobs, or the latch.
        no_unwind(|| {
            while !latch.probe() {
                let is_look_due = is_at_top_level && self.count_job();
                if (is_look_due || self.has_urgent_jobs()) && self.run_before_own(is_look_due) {
                    continue;
                }
                let search = || self.search_beyond_deque(latch, setter);
                let found = match self.take_local_job() {
                    Some(job) => Some(Found::own(job)),
                    None if is_at_top_level => self.outside_top_level(search),
                    None => search(),
                };
                match found {
                    // SAFETY: 1. the queue gave it to us alone.
                    Some(found) => unsafe { self.run_found(found) },
                    None => break,
                }
            }
            if let Some(outer) = outer {
                self.end_top_level(outer);
            }
        });
        self.lower_begin();
    }

    /// Searches until there is a job, or until the latch is set, when there is none on the deque.
    #[inline]
    fn search_beyond_deque(&self, latch: &CoreLatch, setter: Setter) -> Option<Found> {
        P::begin_search(self.registry());
        let found = self.take_again().or_else(|| self.search_uncounted());
        found.or_else(|| self.search(latch, setter))
    }
}
