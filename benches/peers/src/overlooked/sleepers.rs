//! What the system says of a thread.

use std::fs;

use nix::unistd::{Pid, gettid};

/// A thread of this process.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Thread {
    id: Pid,
}

impl Thread {
    pub(super) fn current() -> Self {
        Self { id: gettid() }
    }

    /// Whether the thread waits for something, so that the system gives it no processor.
    pub(super) fn is_asleep(&self) -> bool {
        let file = format!("/proc/self/task/{}/stat", self.id);
        let status = fs::read_to_string(file).expect("the thread lives");
        // The state follows the name, which is in parentheses and may hold any character.
        let (_, state) = status.rsplit_once(") ").expect("a name in parentheses");
        state.starts_with('S')
    }
}
