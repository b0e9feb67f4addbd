//! How a core sleeps and is woken.

use core::{
    arch::asm,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
};

use sleep_core::Parker;

use crate::{gic, interrupts::masked};

/// A parker that halts its core until another core interrupts it. The token tells whether the halt
/// ended because of `unpark`.
///
/// # Liveness
/// The core looks for the token and halts with interrupts masked. `unpark` gives the token, by an
/// exchange, and then interrupts the core. If that comes before the look, the core does not halt.
/// If it comes after the look, so does the interrupt, which stays pending while it is masked and
/// ends the halt. After the halt, the core clears the interrupt first and looks for the token
/// second.
pub struct Halt {
    core: usize,
    token: AtomicBool,
    halts: AtomicUsize,
}

impl Halt {
    pub const fn on(core: usize) -> Self {
        Self {
            core,
            token: AtomicBool::new(false),
            halts: AtomicUsize::new(0),
        }
    }

    /// Returns the number of times that the core has halted.
    pub fn halts(&self) -> usize {
        self.halts.load(Ordering::Relaxed)
    }
}

impl Parker for Halt {
    fn park(&self) {
        // Ordering: Acquire pairs with `unpark`: what its caller wrote is visible.
        while !self.token.swap(false, Ordering::Acquire) {
            // Handlers run between two rounds.
            masked(|| {
                // Ordering: Relaxed; the swap above synchronizes.
                if !self.token.load(Ordering::Relaxed) {
                    self.halts.fetch_add(1, Ordering::Relaxed);
                    halt();
                    gic::clear();
                }
            });
        }
    }

    fn unpark(&self) {
        // Ordering: Release pairs with `park`. An exchange, not a store: if there is already a
        // token, the core also sees what the core that gave it earlier had written.
        self.token.swap(true, Ordering::Release);
        gic::send(self.core);
    }
}

/// Completes earlier writes, and halts until an interrupt is pending.
fn halt() {
    // SAFETY: the instructions change nothing that a program can see. Without the option `nomem`,
    // the compiler moves no access to memory across them; the wrapper of `wfi` in `aarch64-cpu` has
    // it.
    unsafe { asm!("dsb sy", "wfi", options(nostack, preserves_flags)) };
}
