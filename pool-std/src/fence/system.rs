//! The system call for the heavy half.

#[cfg(all(any(target_os = "linux", target_os = "android"), not(miri)))]
pub(super) use membarrier::{answers_at_once, barrier, register};
#[cfg(not(all(any(target_os = "linux", target_os = "android"), not(miri))))]
pub(super) use nothing::{answers_at_once, barrier, register};

#[cfg(all(any(target_os = "linux", target_os = "android"), not(miri)))]
mod membarrier {
    use std::os::unix::fs::MetadataExt;

    use crate::linux::{Membarrier, membarrier};

    pub(crate) fn register() -> bool {
        membarrier(Membarrier::RegisterPrivateExpedited).is_ok()
    }

    /// Returns false if the system refuses what it has granted before.
    pub(crate) fn barrier() -> bool {
        membarrier(Membarrier::PrivateExpedited).is_ok()
    }

    /// Whether this is the only thread: else the kernel waits until all processors have scheduled.
    pub(crate) fn answers_at_once() -> bool {
        // The directory has a link for each thread, one for itself and one for its parent.
        std::fs::metadata("/proc/self/task").is_ok_and(|threads| threads.nlink() <= 3)
    }
}

#[cfg(not(all(any(target_os = "linux", target_os = "android"), not(miri))))]
mod nothing {
    pub(crate) fn register() -> bool {
        false
    }

    pub(crate) fn barrier() -> bool {
        false
    }

    pub(crate) fn answers_at_once() -> bool {
        true
    }
}
