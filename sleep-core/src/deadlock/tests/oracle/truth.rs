//! What is true of a pool, and whether a report agrees with it.

use std::{
    cell::{Cell, RefCell},
    vec::Vec,
};

use crate::{
    CoreLatch,
    deadlock::{Report, State},
};

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Truth {
    Absent,
    Active,
    Asleep,
    /// Blocked, and unmarked without its name if `is_resumed`: then the worker runs.
    Blocked {
        is_resumed: bool,
    },
}

/// What a thread has still to do of a call that others may interrupt.
#[derive(Clone, Copy)]
pub(super) enum Rest {
    Announce,
    AnnounceFor(usize),
    WillWake(usize),
    Wake(usize),
    /// The closure has ended for which the worker was lent.
    EndClosure(usize),
    /// Then the pool is told.
    EndOutside(usize),
}

/// The true state of a pool, and what has been reported.
pub(super) struct Oracle {
    pub(super) truths: Vec<Cell<Truth>>,
    pub(super) latches: Vec<CoreLatch>,
    pub(super) injector: Cell<usize>,
    pub(super) deques: Vec<Cell<usize>>,
    pub(super) inboxes: Vec<Cell<usize>>,
    /// What threads have still to do, and the worker that does it, if one does.
    pub(super) rests: RefCell<Vec<(Option<usize>, Rest)>>,
    /// The workers that are lent, and whether the closure of each has ended.
    pub(super) loans: RefCell<Vec<(usize, bool)>>,
    /// Reports since a worker was last unmarked.
    pub(super) reports: Cell<usize>,
    pub(super) all_reports: Cell<usize>,
}

impl Oracle {
    pub(super) fn runs(&self, worker: usize) -> bool {
        matches!(
            self.truths[worker].get(),
            Truth::Active | Truth::Blocked { is_resumed: true }
        )
    }

    pub(super) fn is_blocked(&self, worker: usize) -> bool {
        self.truths[worker].get() == Truth::Blocked { is_resumed: false }
    }

    /// Whether a thread is the worker in place of its own one.
    pub(super) fn is_lent(&self, worker: usize) -> bool {
        self.loans.borrow().iter().any(|(it, _)| *it == worker)
    }

    pub(super) fn common_work(&self) -> usize {
        self.injector.get() + self.deques.iter().map(Cell::get).sum::<usize>()
    }

    pub(super) fn may_run(&self, worker: usize) -> bool {
        self.common_work() > 0 || self.inboxes[worker].get() > 0
    }

    /// Whether it is certain that a sleeping worker is going to run: its event has happened, or a
    /// call that announces work for it has returned. (The call of a worker is one of a worker
    /// that runs.)
    pub(super) fn will_run(&self, worker: usize) -> bool {
        let rests = self.rests.borrow();
        let unfinished =
            |is_it: &dyn Fn(&Rest) -> bool| rests.iter().filter(|(_, rest)| is_it(rest)).count();
        let posting = unfinished(&|rest| matches!(rest, Rest::Announce));
        let posting_for =
            unfinished(&|rest| matches!(rest, Rest::AnnounceFor(it) if *it == worker));
        let setting = unfinished(&|rest| matches!(rest, Rest::WillWake(it) if *it == worker));
        self.common_work() > posting
            || self.inboxes[worker].get() > posting_for
            || (self.latches[worker].probe() && setting == 0)
    }

    pub(super) fn is_stuck(&self) -> bool {
        let all = 0..self.truths.len();
        self.loans.borrow().is_empty()
            && all.clone().any(|worker| self.is_blocked(worker))
            && !all.clone().any(|worker| self.runs(worker))
            && !all
                .filter(|&worker| self.truths[worker].get() == Truth::Asleep)
                .any(|worker| self.will_run(worker))
    }

    pub(super) fn expected(&self, worker: usize) -> State {
        match self.truths[worker].get() {
            Truth::Absent => State::Absent,
            Truth::Active => State::Active,
            Truth::Asleep => State::Asleep,
            Truth::Blocked { .. } => State::Blocked,
        }
    }

    pub(super) fn handle(&self, report: &Report<'_>) {
        assert!(self.is_stuck(), "a false report: {report}");
        assert_eq!(self.reports.get(), 0, "reported twice: {report}");
        for (worker, state) in report.states() {
            assert_eq!(state, self.expected(worker.get()));
        }
        self.reports.set(1);
        self.all_reports.set(self.all_reports.get() + 1);
    }
}
