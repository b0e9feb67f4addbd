//! Where the checks of the feature `testing` come in. Without the feature, nothing is here.

#[cfg(all(feature = "testing", not(any(loom, target_os = "none"))))]
pub(crate) use crate::testing::hook::{after_fence, has_received, in_spin_loop, point};

/// Lets a check run another thread here.
#[cfg(not(all(feature = "testing", not(any(loom, target_os = "none")))))]
#[inline(always)]
pub(crate) fn point(_what: &'static str) {}

/// Tells a check that the thread has acquired what another thread sent it.
#[cfg(not(all(feature = "testing", not(any(loom, target_os = "none")))))]
#[inline(always)]
pub(crate) fn has_received() {}
