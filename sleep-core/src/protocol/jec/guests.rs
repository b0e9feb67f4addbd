//! Guests, which take the place of a sleeping worker over and give it back.

use super::{Jec, Slots};
use crate::{
    index::WorkerIndex,
    policy::IdlePolicy,
    primitive::{Ordering, fence},
    protocol::{LendSeats, SleepProtocol as _},
};

impl<S: Slots, I: AsRef<IdlePolicy>> LendSeats for Jec<S, I> {
    /// Lends an eligible sleeper, the first in the order of the bitmap. Costs one load while no
    /// worker sleeps.
    ///
    /// The guest counts as active, so it needs no room among the searchers. If it searches in a
    /// join, it counts as one then, by `start_looking` and `work_found` as any worker.
    fn borrow_sleeper(&self, mut eligible: impl FnMut(WorkerIndex) -> bool) -> Option<WorkerIndex> {
        if self.shared.counters.load().sleeping() == 0 {
            return None;
        }
        let mut lent = None;
        self.shared
            .sleepers
            .find(self.slots(), None, |index: usize| {
                let slot = self.slots()[index].state();
                if !slot.is_asleep() {
                    return false;
                }
                lent = WorkerIndex::new(index, self.num_workers())
                    .ok()
                    .filter(|&worker| eligible(worker) && slot.lend());
                lent.is_some()
            });
        if let Some(worker) = lent {
            self.slots()[worker.get()].state().search().lend();
            // One step: a poster that counts on idle workers that are awake never counts on this
            // one.
            self.shared.counters.sub_sleeping_and_inactive();
            // Before the guest queues a job: no other worker may leave its queue out.
            self.shared.sleepers.remove(self.slots(), worker.get());
        }
        lent
    }

    /// Counts the host as asleep again, and wakes it if there is work.
    fn give_back(&self, worker: WorkerIndex, has_work: impl FnOnce() -> bool) -> bool {
        let slot = self.slots()[worker.get()].state();
        slot.search().give_back(worker);
        self.shared.counters.add_sleeping_and_inactive();
        // Before the slot is open, so that the bit of an open slot is set.
        self.shared.sleepers.add(self.slots(), worker.get());
        slot.give_back();
        // Ordering: the sleeper's fence, as in `park`, and for the same posters. A poster that has
        // found the slot lent, and so has passed this worker over, executed its fence
        // before this one. So its job is visible to `has_work`, and so is a latch that was
        // set before a fence.
        fence(Ordering::SeqCst);
        let wakes = has_work() && slot.claim_known_sleeper();
        if wakes {
            self.wake_claimed(worker.get());
        }
        wakes
    }

    fn caller_resumed(&self) {
        if let Some(slot) = self.slots().first() {
            self.resumed.note(slot.parker());
        }
    }
}
