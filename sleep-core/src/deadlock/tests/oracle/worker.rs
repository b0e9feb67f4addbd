//! The steps of a worker.

use std::{
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
};

use super::{super::super::*, World, single_thread::Parked, truth::Truth};
use crate::SleepProtocol as _;
use crate::{NewJobs, Purpose};

impl World {
    /// Plays one step of a worker that runs, wakes up, comes, or is blocked.
    pub(super) fn act(&self, worker: usize) {
        if self.is_busy[worker].get() {
            return;
        }
        if let Some(rest) = self.rest_of(worker) {
            return self.finish(rest);
        }
        match self.oracle.truths[worker].get() {
            Truth::Absent if worker < self.wanted.get() => self.arrive(worker),
            Truth::Absent => {}
            Truth::Asleep => _ = self.wake_up(worker),
            Truth::Blocked { is_resumed: false } => self.stay_blocked(worker),
            Truth::Active if worker >= self.wanted.get() && self.below(2) == 0 => {
                self.leave(worker);
            }
            Truth::Active | Truth::Blocked { is_resumed: true } => match self.below(19) {
                0..5 => self.search(worker),
                5..8 => self.block(worker),
                8 => self.spawn(worker),
                9 => self.post(Some(worker)),
                10..12 => self.set_latch(Some(worker), self.any_worker()),
                12..15 => self.unmark(),
                15..17 => self.lend(worker),
                17 => self.set_active_workers(Some(worker)),
                _ => self.leave(worker),
            },
        }
    }

    fn rest_of(&self, worker: usize) -> Option<usize> {
        let rests = self.oracle.rests.borrow();
        rests.iter().position(|(by, _)| *by == Some(worker))
    }

    pub(super) fn arrive(&self, worker: usize) {
        self.accounting.arrive(self.index(worker));
        self.set_truth(worker, Truth::Active);
    }

    fn leave(&self, worker: usize) {
        // The frames of the lender hold it.
        if self.oracle.is_lent(worker) {
            return;
        }
        self.oracle.inboxes[worker].set(0);
        self.announce_leftovers();
        if self.oracle.truths[worker].get() != Truth::Active {
            self.oracle.reports.set(0);
        }
        self.set_truth(worker, Truth::Absent);
        let may_run = |worker: WorkerIndex| self.oracle.may_run(worker.get());
        self.accounting.leave(self.index(worker), may_run);
    }

    pub(super) fn announce_leftovers(&self) {
        let work = self.oracle.common_work();
        if work > 0 {
            self.sleep.announce(NewJobs::injected(work, false));
        }
    }

    fn block(&self, worker: usize) {
        self.announce_leftovers();
        self.interleave_but(worker);
        self.set_truth(worker, Truth::Blocked { is_resumed: false });
        let may_run = |worker: WorkerIndex| self.oracle.may_run(worker.get());
        let ticket = self.accounting.mark_blocked(self.index(worker), may_run);
        self.tickets[worker].set(Some(ticket.unwrap()));
    }

    fn interleave_but(&self, worker: usize) {
        self.is_busy[worker].set(true);
        self.interleave();
        self.is_busy[worker].set(false);
    }

    /// Checks that a second mark is refused, or ends the section by its own worker.
    fn stay_blocked(&self, worker: usize) {
        if self.is_nameless {
            return;
        }
        if self.below(4) > 0 {
            let state = State::Blocked;
            assert_eq!(
                self.accounting
                    .mark_blocked(self.index(worker), |_| unreachable!()),
                Err(NotActive { worker, state })
            );
            return;
        }
        self.oracle.reports.set(0);
        self.set_truth(worker, Truth::Active);
        let ticket = self.tickets[worker].get().unwrap();
        self.accounting.mark_self_unblocked(ticket).unwrap();
    }

    /// Takes a job for a worker, if there is one.
    fn take(&self, worker: usize) -> bool {
        let oracle = &self.oracle;
        let queues = [&oracle.deques[worker], &oracle.inboxes[worker]];
        let others = oracle.deques.iter().chain([&oracle.injector]);
        let queue = queues
            .into_iter()
            .chain(others)
            .find(|queue| queue.get() > 0);
        if let Some(queue) = queue {
            queue.set(queue.get() - 1);
        }
        queue.is_some()
    }

    /// Searches for a job until there is one, the latch is set, or the worker parks.
    pub(super) fn search(&self, worker: usize) {
        let latch = &self.oracle.latches[worker];
        self.is_busy[worker].set(true);
        let mut idle = self.sleep.start_looking(self.index(worker), Purpose::Job);
        loop {
            if latch.probe() {
                latch.reset();
                break;
            }
            if self.take(worker) {
                break;
            }
            let has_slept = Cell::new(false);
            let call = || {
                self.sleep
                    .no_work_found(&mut idle, latch, || self.last_look(worker, &has_slept));
            };
            if let Err(panic) = catch_unwind(AssertUnwindSafe(call)) {
                if !panic.is::<Parked>() {
                    resume_unwind(panic);
                }
                self.idle[worker].set(Some(idle));
                self.is_busy[worker].set(false);
                return;
            }
            if has_slept.get() {
                self.accounting.wake_up(self.index(worker));
                self.set_truth(worker, Truth::Active);
            }
        }
        self.is_busy[worker].set(false);
        self.sleep
            .work_found(idle, || self.oracle.common_work() > 0);
    }

    /// Looks for work after the worker has registered as a sleeper.
    fn last_look(&self, worker: usize, has_slept: &Cell<bool>) -> bool {
        self.interleave();
        if self.oracle.may_run(worker) {
            return true;
        }
        self.interleave();
        has_slept.set(true);
        self.set_truth(worker, Truth::Asleep);
        let (latch, index) = (&self.oracle.latches[worker], self.index(worker));
        let may_run = |worker: WorkerIndex| self.oracle.may_run(worker.get());
        self.accounting.fall_asleep(index, latch, may_run);
        self.interleave();
        false
    }

    /// Continues a worker that was parked, if it has been unparked. Returns whether it was.
    pub(super) fn wake_up(&self, worker: usize) -> bool {
        // A token may be of an earlier sleep that was not needed.
        if self.is_busy[worker].get()
            || !self.sleep.slots()[worker]
                .state()
                .is_awake(crate::protocol::Tenant::Host)
        {
            return false;
        }
        let Some(idle) = self.idle[worker].take() else {
            return false;
        };
        self.sleep.slots()[worker].parker().has_token.set(false);
        // What the protocol does after the park.
        self.oracle.latches[worker].wake_up();
        self.accounting.wake_up(self.index(worker));
        self.set_truth(worker, Truth::Active);
        self.sleep
            .work_found(idle, || self.oracle.common_work() > 0);
        true
    }
}
