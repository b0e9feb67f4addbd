//! Advancing, which one thread does at a time: the leader.

use sleep_core::Parker;
use sleep_primitives::{AtomicBool, AtomicUsize, Ordering, RawWord};

use crate::{
    AsymmetricFence, Domain, Participant, Progress,
    moment::{WAITING, is_reached, next},
    participant::Wanted,
    state::State,
    unwind::{finally, for_each, on_unwind},
};

/// The position of the leader's scan of the participants. Only leaders touch it, and a leader
/// publishes it with the release of the leadership.
pub(crate) struct Scan {
    /// The first participant that is not known to have confirmed the next value.
    position: AtomicUsize,
    /// The last advance was made, but the heavy fence after it was refused. Until there has been
    /// one, the leader must not rely on any participant.
    owes_fence: AtomicBool,
}

impl Scan {
    const_unless_loom! {
        pub(crate) fn new() -> Self {
            Self { position: AtomicUsize::new(0), owes_fence: AtomicBool::new(false) }
        }
    }
}

/// Whether this participant lets the advance to `next` pass.
fn may_pass<P>(participant: &Participant<P>, next: RawWord) -> bool {
    matches!(participant.confirmed(), value if value == next || value == WAITING)
}

impl<D: Domain> Progress<D> {
    /// Takes the leadership if it is free.
    #[inline]
    pub(crate) fn try_lead(&self) -> bool {
        let is_led = &self.shared.is_led;
        // Ordering: Relaxed, a hint that saves the exchange. Acquire pairs with `stop_leading`:
        // the scan and the counters are as the last leader left them.
        !is_led.load(Ordering::Relaxed)
            && is_led
                .compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
    }

    pub(crate) fn stop_leading(&self) {
        // Ordering: Release pairs with `try_lead`.
        self.shared.is_led.store(false, Ordering::Release);
    }

    /// Advances by one, if all threads have confirmed the next value and no delay stands in the
    /// way. Only the leader may call this.
    pub(crate) fn try_advance(&self) -> bool {
        // Ordering: Relaxed here and below; only leaders write it.
        let owes_fence = &self.scan.owes_fence;
        if owes_fence.load(Ordering::Relaxed) {
            // Ordering: stands in for the fence after the last advance.
            if !D::Fence::heavy() {
                return false;
            }
            owes_fence.store(false, Ordering::Relaxed);
        }
        let current = self.shared.state.leaders_value();
        let next = next(current);
        let position = &self.scan.position;
        let first = position.load(Ordering::Relaxed);
        let participants = self.participants();
        let passed = participants[first..]
            .iter()
            .take_while(|participant| may_pass(participant, next))
            .count();
        position.store(first + passed, Ordering::Relaxed);
        if first + passed < participants.len() || !self.delays.try_pass(current) {
            return false;
        }

        // Publishes what was received from the participants and the delays to each thread that sees
        // the value.
        self.shared.state.advance();
        // Ordering: pairs with the light fences of threads that begin to read (`enter`) and of
        // delays (`begin`): either they see the new value, or the next scan sees their participants
        // and counts. Without the fence there is no next scan.
        if !D::Fence::heavy() {
            owes_fence.store(true, Ordering::Relaxed);
        }
        position.store(0, Ordering::Relaxed);
        self.wake_reached();
        true
    }

    /// Makes progress to a value, unless another thread leads or something stands in the way. Any
    /// thread may call this. Returns whether the value is reached.
    #[cold]
    pub(crate) fn advance_to(&self, value: RawWord) -> bool {
        if self.try_lead() {
            finally(
                || while !is_reached(self.current(), value) && self.try_advance() {},
                || self.stop_polling(),
            );
        }
        is_reached(self.current(), value)
    }

    /// Releases the leadership of a thread that leads for no request, and makes progress for the
    /// requests that came meanwhile.
    fn stop_polling(&self) {
        self.stop_leading();
        // Ordering: pairs with the heavy fence of a thread that requested a wake-up while this one
        // led (`request_wakeup`): either that thread finds the leadership free, or this one sees
        // the request. Requests from before are visible by way of the leadership.
        D::Fence::light();
        if self.state().has_wakeups() {
            self.advance_while_needed();
        }
    }

    /// Wakes the threads whose value is reached, and makes operations due. Only the leader may call
    /// this.
    fn wake_reached(&self) {
        if !self.state().has_wakeups() {
            return;
        }
        self.shared.state.take_wakeups();
        let current = self.current();
        let set_flag = || {
            self.shared.state.set_wakeups();
        };
        // After a panic it is not known whether some are left, and the flag may be set for none.
        if on_unwind(|| self.release_all(current), set_flag) {
            set_flag();
        }
    }

    /// Does the work of [`wake_reached`](Self::wake_reached). Returns whether some wait for a later
    /// value.
    fn release_all(&self, current: RawWord) -> bool {
        let (mut threads_are_left, mut operations_are_left) = (false, false);
        let wake_up = |participant: &Participant<D::Parker>| {
            if participant.take_reached(current) {
                participant.parker().unpark();
            }
            threads_are_left |= participant.wanted() != Wanted::NONE;
        };
        finally(
            || for_each(self.participants(), wake_up),
            || operations_are_left = self.unowned.release_reached(current),
        );
        threads_are_left || operations_are_left
    }

    /// Publishes a request that the caller has stored, and makes progress for it if nothing stands
    /// in the way. The README's liveness table tells which thread continues otherwise.
    pub(crate) fn request_wakeup(&self) {
        self.shared.state.set_wakeups();
        // Ordering: pairs with the light fence of a thread that stands in the way now and ceases to
        // (`leave`): either it sees the flag and makes progress, or this thread sees it out of the
        // way. If there is no fence, there is no progress either.
        let _ = D::Fence::heavy();
        self.advance_while_needed();
    }

    /// Makes progress as long as there are requests and nothing stands in the way. Called by a
    /// thread that has ceased to stand in the way, or that waits.
    ///
    /// When it gives up, another thread continues: see the README's liveness table. A panic of a
    /// parker or a wake-up is no reason to give up.
    #[cold]
    pub(crate) fn advance_while_needed(&self) {
        on_unwind(|| self.lead_while_needed(), || self.advance_while_needed());
    }

    fn lead_while_needed(&self) {
        // Liveness: the outer loop repeats only if an obstacle has gone since the last scan, or if
        // a delay was not marked yet, which the next scan marks.
        while self.state().has_wakeups() && self.try_lead() {
            finally(
                || while self.state().has_wakeups() && self.try_advance() {},
                || self.stop_leading(),
            );
            // Ordering: pairs with the fence of a thread that ceased to stand in the way while this
            // one led: either it finds the leadership free, or this thread sees it out of the way.
            // Without a fence no thread can advance.
            if !D::Fence::heavy() || self.has_obstacle() {
                return;
            }
        }
    }

    /// Whether something stands in the way of the next advance and will make progress when it
    /// ceases to. A delay that no leader has marked will not.
    fn has_obstacle(&self) -> bool {
        let current = self.current();
        let next = next(current);
        let mut participants = self.participants().iter();
        self.delays.are_awaited(current)
            || participants.any(|participant| !may_pass(participant, next))
    }

    /// Handles the flags of the state. Called by a thread that has gone to wait.
    #[cold]
    pub(crate) fn handle_pending(&self, state: State) {
        let wake_blocker = || {
            if state.is_blocked() {
                self.wake_blocker();
            }
        };
        finally(wake_blocker, || {
            if state.has_wakeups() {
                self.advance_while_needed();
            }
        });
    }
}
