//! Places that are lent and returned, and a changing number of workers.

use std::vec::Vec;

use super::{
    World,
    truth::{Rest, Truth},
};

impl World {
    /// Lends the place of a worker that runs. From then on this worker is another thread, and its
    /// own one is outside the pool.
    pub(super) fn lend(&self, worker: usize) {
        self.accounting.begin_outside();
        self.oracle.loans.borrow_mut().push((worker, false));
    }

    /// Ends the closure of a lender, if there is one.
    pub(super) fn end_any_closure(&self) {
        let going_on = self.closures();
        if !going_on.is_empty() {
            self.begin_end(going_on[self.below(going_on.len())]);
        }
    }

    pub(super) fn end_all_closures(&self) {
        for loan in self.closures() {
            self.begin_end(loan);
        }
    }

    /// Returns the loans whose closures go on.
    fn closures(&self) -> Vec<usize> {
        let loans = self.oracle.loans.borrow();
        let all = loans.iter().enumerate();
        all.filter(|(_, (_, is_ending))| !is_ending)
            .map(|(loan, _)| loan)
            .collect()
    }

    fn begin_end(&self, loan: usize) {
        let (worker, is_ending) = &mut self.oracle.loans.borrow_mut()[loan];
        *is_ending = true;
        let rest = (None, Rest::EndClosure(*worker));
        self.oracle.rests.borrow_mut().push(rest);
    }

    /// Sets the latch that the borrower waits for. What that takes goes on beside the next step:
    /// the lender may be in it when another one ends.
    pub(super) fn end_closure(&self, worker: usize) {
        self.set_latch(None, worker);
        let rest = (None, Rest::EndOutside(worker));
        self.oracle.rests.borrow_mut().push(rest);
    }

    pub(super) fn end_outside(&self, worker: usize) {
        let mut loans = self.oracle.loans.borrow_mut();
        let mut all = loans.iter();
        let loan = all.position(|&loan| loan == (worker, true));
        loans.remove(loan.expect("the closure has ended"));
        drop(loans);
        self.accounting
            .end_outside(|worker| self.oracle.may_run(worker.get()));
    }

    /// Changes how many workers are wanted. Those above leave when they run next, and those below
    /// arrive.
    pub(super) fn set_active_workers(&self, by: Option<usize>) {
        self.wanted.set(1 + self.any_worker());
        for worker in self.workers() {
            let is_wanted = worker < self.wanted.get();
            if self.oracle.truths[worker].get() == Truth::Absent {
                if is_wanted && !self.is_busy[worker].get() {
                    self.arrive(worker);
                }
            } else if !is_wanted {
                // Requests it to stop.
                self.set_latch(by, worker);
            }
        }
    }
}
