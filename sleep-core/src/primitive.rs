//! The atomics that this crate uses, from the crate that chooses them: real ones, or loom's.

#[cfg(feature = "deadlock")]
pub(crate) use sleep_primitives::AtomicBool;
pub(crate) use sleep_primitives::{
    AtomicU8, AtomicU32, AtomicUsize, AtomicWord, Custody, LoadStoreU8, Ordering,
};

#[cfg(not(all(feature = "testing", not(any(loom, target_os = "none")))))]
pub(crate) use sleep_primitives::{fence, spin_loop};

/// Executes a fence, which a check of the feature `testing` sees.
#[cfg(all(feature = "testing", not(any(loom, target_os = "none"))))]
pub(crate) fn fence(ordering: Ordering) {
    if ordering == Ordering::SeqCst {
        crate::hook::point("is about to execute a fence");
    }
    sleep_primitives::fence(ordering);
    if ordering == Ordering::SeqCst {
        crate::hook::after_fence();
    }
}

/// Tells the processor that the caller waits, and a check of the feature `testing` that another
/// thread may run.
#[cfg(all(feature = "testing", not(any(loom, target_os = "none"))))]
pub(crate) fn spin_loop() {
    sleep_primitives::spin_loop();
    crate::hook::in_spin_loop();
}
