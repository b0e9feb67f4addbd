//! What a guest does in the check of a protocol that lends seats.

use std::{format, sync::atomic::Ordering::SeqCst};

use super::{Pool, fail, point};
use crate::{LendSeats, Purpose, WorkerIndex, testing::ScheduledParker};

impl<S: LendSeats<Parker = ScheduledParker>> Pool<S> {
    /// Plays a guest, which borrows the worker if it sleeps, gives it back, and waits for the job
    /// of a poster.
    pub(super) fn visit(&self) {
        if let Some(worker) = self.borrow() {
            point("has borrowed the worker");
            self.give_back(worker, || {
                self.has_work(worker.get()) || self.stop[worker.get()].probe()
            });
        }
        self.finished.fetch_add(1, SeqCst);
        self.done.notify();
    }

    /// Plays a guest that sleeps in the place of the worker until its own latch is set.
    pub(super) fn stay(&self) {
        if let Some(worker) = self.borrow() {
            let mut idle = self.sleep.start_looking(worker, Purpose::Wait);
            while !self.visit.probe() {
                let latch = self.visit.latch();
                self.sleep.no_work_found(&mut idle, latch, || false);
            }
            self.sleep.work_found(idle, || false);
            self.give_back(worker, || self.stop[worker.get()].probe());
        }
        self.finished.fetch_add(1, SeqCst);
        self.done.notify();
    }

    fn borrow(&self) -> Option<WorkerIndex> {
        let worker = self.sleep.borrow_sleeper(|_| true)?;
        if !self.is_idle[worker.get()].load(SeqCst) {
            fail("`borrow_sleeper` returns a worker that is not in `no_work_found`");
        }
        self.is_lent[worker.get()].store(true, SeqCst);
        Some(worker)
    }

    fn give_back(&self, worker: WorkerIndex, has_work: impl FnOnce() -> bool) -> bool {
        self.is_lent[worker.get()].store(false, SeqCst);
        self.sleep.give_back(worker, has_work)
    }

    /// Borrows the worker of a pool at rest and gives it back, first without a reason to wake up
    /// and then with one.
    pub(super) fn visit_at_rest(&self) {
        self.rest();
        let mut offers = 0;
        let refuse = |_| {
            offers += 1;
            false
        };
        if self.sleep.borrow_sleeper(refuse).is_some() {
            fail("`borrow_sleeper` returns a worker that is not eligible");
        } else if offers > 1 {
            fail("`borrow_sleeper` offers a worker twice");
        }
        for has_work in [false, true] {
            let Some(worker) = self.borrow() else { return };
            let (inactive, sleeping) = (self.sleep.num_inactive(), self.sleep.num_sleeping());
            if (inactive, sleeping) != (0, 0) {
                fail(&format!(
                    "miscounted: the only worker is borrowed, but the protocol counts {inactive} inactive and \
                     {sleeping} sleeping"
                ));
            }
            if self.sleep.borrow_sleeper(|_| true).is_some() {
                fail("`borrow_sleeper` returns a worker that is borrowed already");
            }
            if self.give_back(worker, || has_work) != has_work {
                fail("`give_back` does not say whether the worker was woken");
            }
            self.rest();
        }
    }
}
