//! A parker that needs nothing but a core.

use pool_core::Parker;

use crate::primitive::{AtomicBool, Ordering};

/// Spins until it is unparked.
///
/// For cores that have nothing else to do and nothing to save, and for hosts that test. Where the
/// core can wait for an event or an interrupt, use a parker that does.
#[derive(Debug, Default)]
pub struct SpinParker {
    token: AtomicBool,
}

impl SpinParker {
    /// A parker without a token.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            token: AtomicBool::new(false),
        }
    }
}

impl Parker for SpinParker {
    fn park(&self) {
        // Ordering: Acquire pairs with `unpark`: what its caller wrote is visible.
        //
        // Liveness: whoever claims this worker stores the token, before or after we look.
        while !self.token.swap(false, Ordering::Acquire) {
            core::hint::spin_loop();
        }
    }

    fn unpark(&self) {
        // Ordering: Release pairs with `park`.
        self.token.store(true, Ordering::Release);
    }
}
