//! Whether a thread waits for something outside the pool, if the system tells. Miri does not.
//! not.

#[cfg(all(any(target_os = "linux", target_os = "android"), not(miri)))]
use {crate::linux, std::fs};

/// A thread, by its number in the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SystemThread(
    #[cfg_attr(
        not(all(any(target_os = "linux", target_os = "android"), not(miri))),
        expect(dead_code, reason = "other systems do not say what a thread does")
    )]
    Option<i32>,
);

#[cfg(all(any(target_os = "linux", target_os = "android"), not(miri)))]
impl SystemThread {
    pub(super) fn current() -> Self {
        thread_local! {
            static CURRENT: SystemThread = SystemThread(linux::thread_number());
        }
        CURRENT.try_with(|&current| current).unwrap_or(Self(None))
    }

    /// Whether the thread sleeps in a system call: it waits for a lock, for input, or for a time.
    /// None if the system does not say.
    pub(super) fn is_blocked(self) -> Option<bool> {
        let stat = fs::read_to_string(format!("/proc/self/task/{}/stat", self.0?)).ok()?;
        // The name of the thread is in parentheses, and may contain some.
        let (_, state) = stat.rsplit_once(')')?;
        Some(state.trim_start().starts_with('S'))
    }
}

#[cfg(not(all(any(target_os = "linux", target_os = "android"), not(miri))))]
impl SystemThread {
    pub(super) fn current() -> Self {
        Self(None)
    }

    pub(super) fn is_blocked(self) -> Option<bool> {
        None
    }
}
