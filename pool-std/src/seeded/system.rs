//! What threads do outside the pool, if the system reports it.

use std::time::Duration;

use crate::system::{self, ThreadState};

#[cfg(all(test, any(target_os = "linux", target_os = "android"), not(miri)))]
mod tests;

/// A thread, by its number in the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

    /// Returns what the thread does, or `None` if the system does not report it.
    pub(super) fn state(self) -> Option<ThreadState> {
        system::state_of_thread(self.0?)
    }

    /// Returns whether the thread sleeps in a system call, or `None` if the system does not report
    /// it.
    pub(super) fn is_blocked(self) -> Option<bool> {
        Some(self.state()? == ThreadState::Sleeping)
    }

    /// Returns the thread's processor time, or `None` if the system does not report it.
    pub(super) fn time(self) -> Option<Duration> {
        system::thread_time(self.0?)
    }
}

/// The threads of the process that were able to run at one moment and have not run since, each with
/// the processor time that it had used by then.
pub(super) struct NotYetRun(Vec<(i32, Duration)>);

impl NotYetRun {
    /// Looks at all threads except the calling one.
    pub(super) fn now() -> Self {
        let current = system::thread_number();
        let others = system::threads().into_iter();
        let others = others.filter(|&thread| Some(thread) != current && can_run(thread));
        Self(
            others
                .filter_map(|thread| Some((thread, system::thread_time(thread)?)))
                .collect(),
        )
    }

    /// Whether each of these threads has run since, or can no longer run.
    pub(super) fn is_over(&mut self) -> bool {
        self.0
            .retain(|&(thread, time)| can_run(thread) && system::thread_time(thread) == Some(time));
        self.0.is_empty()
    }
}

/// Whether a thread will run without the help of another one.
fn can_run(thread: i32) -> bool {
    let state = system::state_of_thread(thread);
    matches!(state, Some(ThreadState::Running | ThreadState::Kept))
}
