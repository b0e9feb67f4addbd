use super::*;
use crate::testing::Test;

#[cfg(loom)]
mod loom;
#[cfg(not(loom))]
mod threads;

/// A scope, as another thread knows it.
struct Sent(*const ScopeCore<'static, Test>);

// SAFETY: scopes are `Sync`.
unsafe impl Send for Sent {}

impl Sent {
    fn new(scope: &ScopeCore<'_, Test>) -> Self {
        Self(core::ptr::from_ref(scope).cast())
    }

    /// # Safety
    /// 1. As for [`ScopeCore::job_done`].
    unsafe fn job_done(self) {
        // SAFETY: obligations 1 and 2 are forwarded to our caller.
        unsafe { ScopeCore::job_done(self.0) };
    }
}
