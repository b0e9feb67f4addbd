//! What a thread holds while it keeps the turn, or is a member.

use std::sync::Arc;

use super::Turns;

/// Keeps the turn from being given, and from being taken away.
pub(crate) struct Hold(pub(super) Arc<Turns>);

impl Drop for Hold {
    fn drop(&mut self) {
        self.0.lock().end_hold(&self.0.at_rest);
    }
}

/// A member that is there.
pub(crate) struct Present {
    pub(super) turns: Arc<Turns>,
    pub(super) member: usize,
}

impl Drop for Present {
    fn drop(&mut self) {
        self.turns.leave(self.member);
    }
}
