//! The shared state of one worker: whether it is registered as a sleeper, and what it does
//! meanwhile.

use core::{fmt, ops::Deref};

use crossbeam_utils::CachePadded;

use super::channel::HintChannel;
use crate::{
    hook,
    policy::{History, WakeTime},
    primitive::{AtomicU8, Ordering},
    protocol::mark::SearchMark,
};

#[cfg(test)]
mod tests;

/// Not registered.
const AWAKE: u8 = 0;
/// Registered; the worker parks, or is about to.
const ASLEEP: u8 = 1;
/// Registered; the worker is awake and searches. The registration is in flight.
const SEARCHING: u8 = 2;
/// Registered; the worker has found work and runs it. A notifier discards the registration.
const BUSY: u8 = 3;
/// A notifier has taken the registration, and the worker has not noted that yet.
const NOTIFIED: u8 = 4;

/// The place of one worker in [`Hints`](crate::Hints), on its own cache lines.
///
/// # Examples
/// ```
/// use sleep_core::{ArrayChannel, HintChannel, HintSlot, Parker};
///
/// struct Core(u32);
/// impl Parker for Core {
///     fn park(&self) { /* WFI */ }
///     fn unpark(&self) { /* an interrupt to core self.0 */ }
/// }
///
/// static SLOTS: [HintSlot<ArrayChannel<Core>>; 2] =
///     [HintSlot::new(ArrayChannel::new(Core(0))), HintSlot::new(ArrayChannel::new(Core(1)))];
/// assert_eq!(SLOTS[1].channel().parker().0, 1);
/// ```
pub struct HintSlot<C> {
    line: CachePadded<Line<C>>,
}

struct Line<C> {
    state: AtomicU8,
    /// Not 0 while the worker searches or sleeps. Changed by the worker alone.
    inactive: AtomicU8,
    /// The worker's own.
    history: History,
    wake_time: WakeTime,
    search: SearchMark,
    channel: C,
}

/// What a worker finds when it is about to sleep.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// The worker was not registered. It must be counted.
    New,
    /// The worker is registered and counted since an earlier attempt.
    InFlight,
    /// A notifier has taken the worker's registration.
    Notified,
}

/// What a notifier has spent a unit on.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Claim {
    /// A worker that sleeps. The notifier must unpark it.
    Sleeper,
    /// A worker that is awake and searches again before it sleeps.
    Searcher,
    /// A worker that has gone away with work: the notification has reached no worker.
    Stale,
}

impl<C> HintSlot<C> {
    const_unless_loom! {
        /// Creates a slot for a worker that is awake.
        #[must_use]
        pub fn new(channel: C) -> Self {
            Self { line: CachePadded::new(Line {
                state: AtomicU8::new(AWAKE),
                inactive: AtomicU8::new(0),
                history: History::new(),
                wake_time: WakeTime::new(),
                search: SearchMark::new(),
                channel,
            }) }
        }
    }

    /// Returns the worker's channel.
    #[must_use]
    pub fn channel(&self) -> &C {
        &self.line.channel
    }

    /// Returns what the worker has learned about its rounds. For the worker alone.
    pub(super) fn history(&self) -> &History {
        &self.line.history
    }

    /// Returns when the worker was woken. For the worker and its wakers.
    pub(super) fn wake_time(&self) -> &WakeTime {
        &self.line.wake_time
    }

    /// Returns whether the worker searches, for assertions. For the worker alone.
    pub(super) fn search(&self) -> &SearchMark {
        &self.line.search
    }

    /// Notes whether the worker searches or sleeps.
    pub(super) fn set_inactive(&self, inactive: bool) {
        // Ordering: Relaxed; statistics only.
        self.line.inactive.store(inactive.into(), Ordering::Relaxed);
    }

    pub(super) fn is_inactive(&self) -> bool {
        // Ordering: Relaxed; statistics only.
        self.line.inactive.load(Ordering::Relaxed) != 0
    }

    /// Whether the worker sleeps, and no thread has woken it.
    pub(super) fn is_asleep(&self) -> bool {
        // Ordering: Acquire pairs with the Release of `claim` and `poke`: a worker that is woken
        // sees the job that it is woken for.
        self.line.state.load(Ordering::Acquire) == ASLEEP
    }

    /// Lets notifiers claim the worker from now on, and threads poke it. Called by the worker.
    pub(super) fn enter(&self) -> Entry {
        let state = &self.line.state;
        // Ordering: Acquire pairs with the Release of `claim`, as in `is_asleep`.
        let mut now = state.load(Ordering::Acquire);
        // ASLEEP only if the caller has left an attempt half-way, by a panic; it is registered all
        // the same.
        if matches!(now, SEARCHING | BUSY | ASLEEP) {
            // Ordering: Relaxed, as below. Acquire on failure, as above.
            match state.compare_exchange(now, ASLEEP, Ordering::Relaxed, Ordering::Acquire) {
                Ok(_) => return Entry::InFlight,
                Err(changed) => now = changed,
            }
        }
        if now == NOTIFIED {
            self.end_notification();
            return Entry::Notified;
        }
        // Ordering: Relaxed. That notifiers see the slot open in time is ensured by the count
        // (`SleeperCount::register`), for the setter of the latch by the latch, and for the poster
        // of a job for this worker by fences.
        state.store(ASLEEP, Ordering::Relaxed);
        Entry::New
    }

    /// Takes back a registration that was not counted. Returns false if a notifier has claimed it.
    pub(super) fn retract(&self) -> bool {
        let state = &self.line.state;
        let mut now = ASLEEP;
        while now != NOTIFIED {
            // Ordering: Release, so that a notifier that passes the slot over sees what it would
            // see in the slots of others (see `claim`). Acquire on failure pairs with
            // `claim`, as in `is_asleep`.
            match state.compare_exchange(now, AWAKE, Ordering::Release, Ordering::Acquire) {
                Ok(_) => return true,
                Err(changed) => now = changed,
            }
        }
        false
    }

    /// Notes that the worker is awake and searches on, registered.
    pub(super) fn turn_back(&self) {
        // Ordering: Relaxed, as in `enter`. A failure means that another thread has woken the
        // worker: then it is SEARCHING or NOTIFIED already, which is looked at again.
        let _ = self.line.state.compare_exchange(
            ASLEEP,
            SEARCHING,
            Ordering::Relaxed,
            Ordering::Relaxed,
        );
    }

    /// Whether a notifier has claimed the worker. Called by the worker.
    pub(super) fn is_notified(&self) -> bool {
        // Ordering: Relaxed; what the notifier has seen is received when the worker notes the
        // notification.
        self.line.state.load(Ordering::Relaxed) == NOTIFIED
    }

    /// Notes that a notification has been received, if there is one. Called by the worker.
    pub(super) fn receive_notification(&self) -> bool {
        // Ordering: Acquire pairs with `claim`, as in `is_asleep`.
        let notified = self.line.state.load(Ordering::Acquire) == NOTIFIED;
        if notified {
            hook::has_received();
            self.end_notification();
        }
        notified
    }

    fn end_notification(&self) {
        // Ordering: Release, as in `retract`. Only the worker changes this state.
        self.line.state.store(AWAKE, Ordering::Release);
    }

    /// Ends the registration of a worker that searches, for the worker, which has a unit to spend.
    /// Returns false if a notifier has claimed it.
    pub(super) fn withdraw(&self) -> bool {
        self.leave(AWAKE)
    }

    /// Notes that a worker that searches goes away with work. Returns false if a notifier has
    /// claimed it.
    pub(super) fn abandon(&self) -> bool {
        self.leave(BUSY)
    }

    fn leave(&self, to: u8) -> bool {
        // Ordering: Release, as in `retract`. Acquire on failure pairs with `claim`: the worker
        // sees the job that it has been notified of, and passes it on.
        self.line
            .state
            .compare_exchange(SEARCHING, to, Ordering::Release, Ordering::Acquire)
            .is_ok()
    }

    /// Spends a unit on this worker, if it is registered.
    pub(super) fn claim(&self) -> Option<Claim> {
        let state = &self.line.state;
        // Ordering: Acquire. A notifier that finds no registered worker looks at all slots again,
        // and finds one since it sees by then what those have seen that claimed the others.
        let mut now = state.load(Ordering::Acquire);
        loop {
            let (next, claim) = match now {
                ASLEEP => (NOTIFIED, Claim::Sleeper),
                SEARCHING => (NOTIFIED, Claim::Searcher),
                BUSY => (AWAKE, Claim::Stale),
                _ => return None,
            };
            // Ordering: AcqRel. Release: the worker sees the job (`is_asleep`, `enter`, `leave`).
            // Acquire as above, also on failure.
            match state.compare_exchange(now, next, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Some(claim),
                Err(changed) => now = changed,
            }
        }
    }

    /// Wakes the worker if it sleeps, and leaves it registered. Returns true if it slept; then the
    /// caller must unpark it.
    pub(super) fn poke(&self) -> bool {
        // Ordering: Release: the worker sees what it is woken for (`is_asleep`). No load before it.
        // An exchange that fails is a load, and may be out of date, but not by so much that it
        // precedes an opening that the caller knows of, by the latch or by its fence.
        self.line
            .state
            .compare_exchange(ASLEEP, SEARCHING, Ordering::Release, Ordering::Relaxed)
            .is_ok()
    }
}

impl<C: fmt::Debug> fmt::Debug for HintSlot<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Ordering: Relaxed; debug output only.
        let state = match self.line.state.load(Ordering::Relaxed) {
            AWAKE => "AWAKE",
            ASLEEP => "ASLEEP",
            SEARCHING => "SEARCHING",
            BUSY => "BUSY",
            _ => "NOTIFIED",
        };
        f.debug_struct("HintSlot")
            .field("state", &state)
            .field("channel", &self.line.channel)
            .finish()
    }
}

/// Where the slots of [`Hints`](crate::Hints) are stored: anything that dereferences to
/// `[HintSlot<C>]`, and always to the same slice, such as a borrowed slice, a box, or
/// [`Inline`](crate::Inline).
///
/// If it gives different slices, or another instance uses the same slots, wake-ups are lost or
/// calls do not return, but no memory safety rests on it.
///
/// # Examples
/// See [`Hints`](crate::Hints): in a `static`, and in a box.
pub trait HintSlots {
    /// Blocks one worker, and carries hints to it.
    type Channel: HintChannel;

    /// Returns the workers' slots, in their order.
    fn slots(&self) -> &[HintSlot<Self::Channel>];
}

impl<C: HintChannel, S: Deref<Target = [HintSlot<C>]>> HintSlots for S {
    type Channel = C;

    #[inline]
    fn slots(&self) -> &[HintSlot<C>] {
        self
    }
}
