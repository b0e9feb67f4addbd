//! What the crate's own code tells the check that runs on its thread, if one does.

use super::schedule::{Actor, Switch};

/// Lets the check run another actor here.
pub(crate) fn point(what: &'static str) {
    Actor::with_current(|actor| actor.reach(Switch::Point, what));
}

/// Makes the actor's writes visible to others, and theirs to the actor.
pub(crate) fn after_fence() {
    Actor::with_current(|actor| {
        actor.memory(|memory, me| memory.fence(me));
        actor.reach(Switch::Point, "executes a fence");
    });
}

/// Makes the others' writes visible to the actor, which has acquired a notification.
pub(crate) fn has_received() {
    Actor::with_current(|actor| actor.memory(|memory, me| memory.refresh(me)));
}

/// Lets the check run another actor, because this one only waits.
pub(crate) fn in_spin_loop() {
    Actor::with_current(|actor| actor.reach(Switch::Yield, "relaxes"));
}
