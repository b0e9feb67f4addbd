//! The steps of a worker that falls asleep, wakes up, or leaves with work.

use super::{HintChannel, HintSlot, HintSlots, Hints, IdleState, slot::Entry};
use crate::{
    latch::CoreLatch,
    parker::Parker as _,
    policy::IdlePolicy,
    primitive::{Ordering, fence},
    protocol::hint::Hint,
};

impl<S: HintSlots, I: AsRef<IdlePolicy>> Hints<S, I> {
    #[cold]
    pub(super) fn sleep(
        &self,
        idle: &mut IdleState,
        latch: &CoreLatch,
        has_work: impl FnOnce() -> bool,
    ) -> Hint {
        let slot = &self.slots()[idle.worker.get()];
        if !latch.get_sleepy() {
            return Hint::Unknown;
        }
        if !self.register(slot) {
            idle.may_be_registered = false;
            latch.wake_up();
            idle.search.turn_back();
            return Hint::Unknown;
        }
        idle.may_be_registered = true;

        // Ordering: the sleeper's fence. Pairs with the poster's (`notify_anywhere`,
        // `announce_for`, and that of a caller of `notify`): of two fences one comes first. If it
        // is the poster's, its job is visible to `has_work`. If it is this one, our registration is
        // visible to the poster. Nothing weaker orders our writes before our reads.
        fence(Ordering::SeqCst);
        // The slot is open before the latch says SLEEPING, so a thread that sets the latch from
        // then on finds the slot open.
        let is_set = !latch.fall_asleep();
        if is_set || has_work() {
            latch.wake_up();
            slot.turn_back();
            idle.search.turn_back();
            if is_set && slot.is_notified() {
                // A notifier may have claimed us before we counted ourselves. Then the unit that we
                // have counted belongs to a worker that sleeps, and posters that read the count
                // meanwhile took it for awake. `has_work` would make up for that, but is not
                // called. So that worker is woken.
                self.notify(1, Hint::Unknown);
            }
            return Hint::Unknown;
        }

        // Liveness: the slot is open, so the next poster of work that takes our unit claims us, and
        // the setter of the latch pokes us; both unpark. The poster sees the count, or it
        // came before our fence, and then `has_work` said so; the setter sees SLEEPING. A
        // wake-up is not too early either: the token outlasts the time until we park, and
        // we leave only when the slot says so.
        while slot.is_asleep() {
            slot.channel().parker().park();
        }
        latch.wake_up();
        let hint = match slot.receive_notification() {
            true => {
                idle.may_be_registered = false;
                newest_hint(slot.channel())
            }
            false => Hint::Unknown,
        };
        let (policy, parker) = (self.policy.as_ref(), slot.channel().parker());
        idle.search
            .note_slept(policy, slot.history(), slot.wake_time(), parker);
        hint
    }

    /// Registers a worker as a sleeper, unless it is registered. Returns false if it was notified,
    /// so that it must search again before it sleeps.
    fn register(&self, slot: &HintSlot<S::Channel>) -> bool {
        match slot.enter() {
            Entry::InFlight => true,
            Entry::Notified => false,
            Entry::New => {
                if self.sleepers.register() {
                    return true;
                }
                if slot.retract() {
                    return false;
                }
                // Two notifications have reached this worker: one by the count, and one of a
                // notifier that has claimed the slot and paid for it with a unit of another worker,
                // which sleeps. That worker must be counted again. Each further notification that
                // this consumes finds us awake.
                while !self.sleepers.register() {}
                true
            }
        }
    }

    /// Withdraws the registration of a worker that has found work.
    #[cold]
    pub(super) fn withdraw(&self, slot: &HintSlot<S::Channel>) {
        if slot.receive_notification() {
            return;
        }
        if self.sleepers.take(1) == 0 {
            // A notifier holds the unit of this worker: it finds this worker or another one, or
            // discards this registration and goes on. Or the unit was spent on a worker
            // that has not counted itself yet: then the count is one too high until the
            // next notifier discards this registration.
            if !slot.abandon() {
                slot.receive_notification();
            }
        } else if !slot.withdraw() {
            // A notifier has claimed this worker, so the unit is another worker's, and that one is
            // notified instead of this one.
            slot.receive_notification();
            self.spend(1, Hint::Unknown);
        }
    }
}

/// Takes all hints out of a channel and returns the last one: the others were sent for earlier
/// sleeps.
fn newest_hint<C: HintChannel>(channel: &C) -> Hint {
    let mut newest = Hint::Unknown;
    while let Some(hint) = channel.receive() {
        newest = hint;
    }
    newest
}
