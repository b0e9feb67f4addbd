//! Guards of a thread that holds the turn where it is, or that is a member.

use std::sync::Arc;

use super::Turns;

/// Prevents the turn from being given or taken away.
pub(crate) struct Hold(pub(super) Arc<Turns>);

impl Drop for Hold {
    fn drop(&mut self) {
        self.0.lock().end_hold(&self.0.at_rest);
    }
}

/// A member that is present. Dropping the guard makes it absent.
pub(crate) struct Present {
    pub(super) turns: Arc<Turns>,
    pub(super) member: usize,
}

impl Drop for Present {
    fn drop(&mut self) {
        self.turns.leave(self.member);
    }
}
