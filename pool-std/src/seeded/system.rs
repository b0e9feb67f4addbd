//! Whether a thread waits for something outside the pool, if the system tells.

use crate::system;

/// A thread, by its number in the system.
#[derive(Debug, Clone, Copy)]
pub(super) struct SystemThread(Option<i32>);

impl SystemThread {
    pub(super) fn current() -> Self {
        thread_local! {
            #[allow(
                clippy::missing_const_for_thread_local,
                reason = "some systems are asked for the number"
            )]
            static CURRENT: SystemThread = SystemThread(system::thread_number());
        }
        CURRENT.try_with(|&current| current).unwrap_or(Self(None))
    }

    /// Whether the thread sleeps in a system call: it waits for a lock, for input, or for a time.
    /// None if the system does not say.
    pub(super) fn is_blocked(self) -> Option<bool> {
        system::is_blocked(self.0?)
    }
}
