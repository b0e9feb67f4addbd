//! Whether a thread waits for something outside the pool, if the system tells. Miri does not.

#[cfg(all(any(target_os = "linux", target_os = "android"), not(miri)))]
mod known {
    use std::fs;

    use crate::system;

    /// A thread, by its number in the system.
    #[derive(Debug, Clone, Copy)]
    pub(in super::super) struct SystemThread(Option<i32>);

    impl SystemThread {
        pub(in super::super) fn current() -> Self {
            thread_local! {
                static CURRENT: SystemThread = SystemThread(system::thread_number());
            }
            CURRENT.try_with(|&current| current).unwrap_or(Self(None))
        }

        /// Whether the thread sleeps in a system call: it waits for a lock, for input, or for a
        /// time. None if the system does not say.
        pub(in super::super) fn is_blocked(self) -> Option<bool> {
            let stat = fs::read_to_string(format!("/proc/self/task/{}/stat", self.0?)).ok()?;
            // The name of the thread is in parentheses, and may contain some.
            let (_, state) = stat.rsplit_once(')')?;
            Some(state.trim_start().starts_with('S'))
        }
    }
}

#[cfg(not(all(any(target_os = "linux", target_os = "android"), not(miri))))]
mod unknown {
    /// A thread of which nothing is known.
    #[derive(Debug, Clone, Copy)]
    pub(in super::super) struct SystemThread;

    impl SystemThread {
        pub(in super::super) fn current() -> Self {
            Self
        }

        #[expect(clippy::unused_self, reason = "as where the system tells")]
        pub(in super::super) fn is_blocked(self) -> Option<bool> {
            None
        }
    }
}

#[cfg(all(any(target_os = "linux", target_os = "android"), not(miri)))]
pub(super) use known::SystemThread;
#[cfg(not(all(any(target_os = "linux", target_os = "android"), not(miri))))]
pub(super) use unknown::SystemThread;
