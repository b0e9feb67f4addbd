//! Which processor each worker is pinned to.

use core_affinity::CoreId;

#[cfg(all(any(target_os = "linux", target_os = "android"), not(miri)))]
pub(super) use inherited::unpinned;

/// The processors to which the workers of a pool are pinned. None if they are not.
#[derive(Default)]
pub(crate) struct Pins(Vec<CoreId>);

impl Pins {
    /// Returns the processors that this thread may use. None if the system does not say.
    pub(super) fn here() -> Self {
        Self(core_affinity::get_core_ids().unwrap_or_default())
    }

    /// Pins this thread, that of a worker, to its processor. If the system refuses, it stays as it
    /// is.
    pub(crate) fn pin(&self, worker: usize) {
        if let Some(place) = worker.checked_rem(self.0.len()) {
            #[cfg(all(any(target_os = "linux", target_os = "android"), not(miri)))]
            inherited::note();
            core_affinity::set_for_current(self.0[place]);
        }
    }
}

/// On other systems, a thread may use all processors of the process when it starts.
#[cfg(not(all(any(target_os = "linux", target_os = "android"), not(miri))))]
pub(super) fn unpinned<R>(start: impl FnOnce() -> R) -> R {
    start()
}

/// On Linux, a thread inherits the processors of the thread that starts it.
#[cfg(all(any(target_os = "linux", target_os = "android"), not(miri)))]
mod inherited {
    use std::cell::Cell;

    use crate::system::{Processors, affinity, set_affinity};

    thread_local! {
        /// The processors that this thread could use before a pool pinned it.
        static BEFORE: Cell<Option<Processors>> = const { Cell::new(None) };
    }

    /// Notes the processors that this thread may use, which is about to be pinned.
    pub(super) fn note() {
        if BEFORE.get().is_none() {
            BEFORE.set(affinity());
        }
    }

    /// Calls a closure that starts a thread of a pool. The thread may use the processors that this
    /// one could use before a pool pinned it: it does not share the processor of one worker for
    /// good.
    pub(in super::super) fn unpinned<R>(start: impl FnOnce() -> R) -> R {
        /// Pins the thread again.
        struct Pinned(Option<Processors>);

        impl Drop for Pinned {
            fn drop(&mut self) {
                if let Some(processors) = &self.0 {
                    set_affinity(processors);
                }
            }
        }

        let Some(before) = BEFORE.get() else {
            return start();
        };
        let _pinned = Pinned(affinity());
        set_affinity(&before);
        start()
    }
}
