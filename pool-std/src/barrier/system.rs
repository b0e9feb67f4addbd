//! What the system offers.

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

    /// Ends the process if the system refuses what it has granted before: others go without fences
    /// by now, and whoever calls has frames that must not be unwound.
    pub(crate) fn barrier() {
        if let Err(error) = membarrier(Membarrier::PrivateExpedited) {
            eprintln!(
                "pool-std: the system refuses a barrier to a process that has registered: {error}"
            );
            std::process::abort();
        }
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

    pub(crate) fn barrier() {}

    pub(crate) fn answers_at_once() -> bool {
        true
    }
}
