//! The parker whose waits a check plays.

use core::sync::atomic::{AtomicBool, Ordering::SeqCst};

use super::schedule::{Actor, Switch};
use crate::Parker;

/// A parker for the threads that a check runs: [`Schedules`](super::Schedules) and
/// [`check_protocol`](super::check_protocol).
///
/// No thread is really blocked. Before a thread parks, which is right after its last look, and
/// whenever it calls the parker otherwise, the check may let any other thread run. A park may also
/// return without a token.
///
/// # Panics
/// [`park`](Parker::park) panics on a thread that no check runs.
#[derive(Debug)]
pub struct ScheduledParker {
    own: AtomicBool,
    of_guest: AtomicBool,
}

impl ScheduledParker {
    /// Creates a parker without a token.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            own: AtomicBool::new(false),
            of_guest: AtomicBool::new(false),
        }
    }
}

/// For the waits of a check itself, which no other thread interrupts.
impl ScheduledParker {
    pub(super) fn wait(&self) {
        wait(&Actor::current(), &self.own);
    }

    pub(super) fn notify(&self) {
        provide(&self.own);
    }

    /// Whether the token of a worker that sleeps on this parker is at an address.
    pub(super) fn has_token_at(&self, token: usize) -> bool {
        address(&self.own) == token
    }
}

impl Default for ScheduledParker {
    fn default() -> Self {
        Self::new()
    }
}

/// Waits for a token and takes it.
fn take(token: &AtomicBool) {
    let actor = Actor::current();
    actor.reach(Switch::Point, "is about to park");
    if actor.takes_spurious_wake_up() {
        actor.note("returns from its park without a token");
        return;
    }
    wait(&actor, token);
}

/// Waits for a token and takes it, without a point before.
fn wait(actor: &Actor, token: &AtomicBool) {
    // Liveness: `give` makes the actor runnable, and no other actor runs between the look and the
    // wait. If no actor will give the token, that is a lost wake-up, and the check reports it.
    while !token.swap(false, SeqCst) {
        actor.reach(Switch::Park(address(token)), "parks");
    }
    actor.memory(|memory, me| memory.refresh(me));
}

/// Makes a token available.
fn give(token: &AtomicBool) {
    Actor::with_current(|actor| actor.reach(Switch::Point, "is about to unpark"));
    provide(token);
    Actor::with_current(|actor| actor.reach(Switch::Point, "has unparked"));
}

/// Makes a token available, without a point.
fn provide(token: &AtomicBool) {
    token.store(true, SeqCst);
    Actor::with_current(|actor| actor.unpark(address(token)));
}

fn address(token: &AtomicBool) -> usize {
    std::ptr::from_ref(token).addr()
}

impl Parker for ScheduledParker {
    fn park(&self) {
        take(&self.own);
    }

    fn unpark(&self) {
        give(&self.own);
    }

    fn relax(&self) {
        Actor::with_current(|actor| actor.reach(Switch::Yield, "relaxes"));
    }

    fn park_guest(&self) {
        take(&self.of_guest);
    }

    fn unpark_guest(&self) {
        give(&self.of_guest);
    }
}
