//! Advancing: done by one thread at a time, the leader.

use sleep_core::Parker;
use sleep_primitives::{AtomicBool, AtomicUsize, Ordering, RawWord};

use crate::{
    AsymmetricFence, Domain, Progress,
    moment::{WAITING, is_reached, next},
    participant::Participant,
    participant::Wanted,
    state::State,
};

/// How far the leader has come in looking at the lines. Only leaders touch it, and leadership is
/// handed on with a release.
pub(crate) struct Scan {
    /// The first line that is not known to have confirmed the next value.
    position: AtomicUsize,
    /// The last advance was made, but the heavy fence after it was refused: no line may be relied
    /// on before there has been one.
    owes_fence: AtomicBool,
}

impl Scan {
    const_unless_loom! {
        pub(crate) fn new() -> Self {
            Self { position: AtomicUsize::new(0), owes_fence: AtomicBool::new(false) }
        }
    }
}

impl<D: Domain> Progress<D> {
    /// Takes the leadership if nobody has it.
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
    /// way. Only by the leader.
    pub(crate) fn try_advance(&self) -> bool {
        // Ordering: Relaxed here and below: only leaders write it.
        let owes_fence = &self.scan.owes_fence;
        if owes_fence.load(Ordering::Relaxed) {
            // Ordering: stands in for the one after the last advance.
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
        let may_pass = |participant: &Participant<D::Parker>| matches!(participant.confirmed(), value if value == next || value == WAITING);
        let passed = participants[first..]
            .iter()
            .take_while(|participant| may_pass(participant))
            .count();
        position.store(first + passed, Ordering::Relaxed);
        if first + passed < participants.len() || !self.delays.try_pass(current) {
            return false;
        }

        // What was received from the lines and the delays goes to each thread that sees the value.
        self.shared.state.advance();
        // Ordering: pairs with the light fences of threads that begin to read (`enter`) and of
        // delays (`begin`): either they see the new value, or the next scan sees their lines, and
        // counts. Without the fence there is no next scan.
        if !D::Fence::heavy() {
            owes_fence.store(true, Ordering::Relaxed);
        }
        position.store(0, Ordering::Relaxed);
        self.wake_reached();
        true
    }

    /// Makes progress to a value unless another thread leads, or something stands in the way. By
    /// any thread. Returns whether the value is reached.
    #[cold]
    pub(crate) fn advance_to(&self, value: RawWord) -> bool {
        if self.try_lead() {
            while !is_reached(self.current(), value) && self.try_advance() {}
            self.stop_leading();
            // Ordering: pairs with the heavy fence of a thread that asked while we led (`request_wakeup`):
            // either it finds nobody leading, or we see that it has asked. What was asked for
            // before we led is visible by way of the leadership.
            D::Fence::light();
            if self.state().has_wakeups() {
                self.advance_while_needed();
            }
        }
        is_reached(self.current(), value)
    }

    /// Wakes the threads whose value has come, and makes operations due. Only by the leader.
    fn wake_reached(&self) {
        if !self.state().has_wakeups() {
            return;
        }
        self.shared.state.take_wakeups();
        let current = self.current();
        let mut some_are_left = false;
        for participant in self.participants() {
            if participant.take_reached(current) {
                participant.parker().unpark();
            }
            some_are_left |= participant.wanted() != Wanted::NONE;
        }
        some_are_left |= self.unowned.release_reached(current);
        if some_are_left {
            self.shared.state.set_wakeups();
        }
    }

    /// Has progress made until all wishes are fulfilled, as soon as that is possible.
    ///
    /// From when the bit is set until a leader takes it and finds nothing left, some thread sees to
    /// it that progress goes on: the one that has set it, which drives; one that leads; or one that
    /// stands in the way, and drives when it ceases to.
    pub(crate) fn request_wakeup(&self) {
        self.shared.state.set_wakeups();
        // Ordering: pairs with the light fence of whoever stands in the way now and ceases to
        // (`leave`): either it sees the bit and makes progress, or we see it out of the way. If there
        // is no fence, there will be no progress either.
        let _ = D::Fence::heavy();
        self.advance_while_needed();
    }

    /// Makes progress as long as somebody waits for it and nothing stands in the way. By any
    /// thread that has ceased to stand in the way, or waits.
    ///
    /// If it gives up, somebody else goes on: a leader that is active, and calls `update` soon; or
    /// the thread or delay that stands in the way, which drives when it ceases to.
    #[cold]
    pub(crate) fn advance_while_needed(&self) {
        while self.state().has_wakeups() && self.try_lead() {
            while self.state().has_wakeups() && self.try_advance() {}
            self.stop_leading();
            // Ordering: pairs with the fence of one who ceased to stand in the way while we led:
            // either it finds nobody leading, or we see it out of the way. Without a fence nobody
            // can advance.
            if !D::Fence::heavy() || self.has_obstacle() {
                return;
            }
        }
    }

    /// Whether something stands in the way of the next advance just now, and will drive when it
    /// ceases to. A delay that nobody has looked at yet will not.
    fn has_obstacle(&self) -> bool {
        let current = self.current();
        let next = next(current);
        let stands = |participant: &Participant<D::Parker>| !matches!(participant.confirmed(), value if value == next || value == WAITING);
        self.delays.are_awaited(current) || self.participants().iter().any(stands)
    }

    /// What a thread does that has gone to wait while something asks for attention.
    #[cold]
    pub(crate) fn handle_pending(&self, state: State) {
        if state.is_blocked() {
            self.wake_blocker();
        }
        if state.has_wakeups() {
            self.advance_while_needed();
        }
    }
}
