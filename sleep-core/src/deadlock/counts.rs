//! How many workers are in which state, under the lock of the accounting.

use super::{State, WorkerEntry};

/// How many workers are in each state that decides.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counts {
    pub(super) active: usize,
    pub(super) blocked: usize,
    /// How many threads outside the pool do something for whose end workers may wait.
    pub(super) outside: usize,
    /// How many of the blocked workers have been unmarked by `mark_any_unblocked`, which does not
    /// say which ones, and have not shown that they run.
    pub(super) resumed: usize,
    /// Whether the handler has been called since a worker was last unmarked.
    pub(super) reported: bool,
}

impl Counts {
    /// Whether no worker is active, and at least one is blocked.
    pub(super) fn is_stuck(&self) -> bool {
        // No worker has been resumed then, so all that are blocked stay so.
        self.active + self.resumed + self.outside == 0 && self.blocked > 0
    }

    /// Makes a blocked worker active that shows that it runs, if `mark_any_unblocked` has unmarked
    /// one.
    pub(super) fn consume_resumed(&mut self, entry: &WorkerEntry) {
        if entry.state() == State::Blocked && self.resumed > 0 {
            entry.set_state(State::Active);
            self.end_own_section();
            self.active += 1;
        }
    }

    /// Counts a section that its own worker ends.
    pub(super) fn end_own_section(&mut self) {
        self.resumed = self.resumed.saturating_sub(1);
        self.end_section();
    }

    /// Counts a section that ends.
    pub(super) fn end_section(&mut self) {
        self.blocked -= 1;
        // This lowers the count only if a worker was unmarked both by its ticket and by
        // `mark_any_unblocked`.
        self.resumed = self.resumed.min(self.blocked);
        self.reported = false;
    }
}
