//! A parker for Arm's event registers.

use pool_core::Parker;

use crate::{
    arch::{send_event, wait_for_event},
    machine::CoreParker,
    primitive::{AtomicBool, Ordering},
};

/// Waits in `WFE`, woken by `SEV`.
///
/// Needs no interrupt controller. Each `unpark` wakes all cores that wait for an event, which look
/// and wait again: for machines of few cores.
///
/// # Liveness
/// The token is stored, completed by a barrier, and then every core's event register is set. A
/// worker that has looked before that store and not yet executed `WFE` finds its register set, and
/// `WFE` returns at once: the register is what makes looking and waiting one step. What else sets
/// or clears the register, an interrupt or another lock's `WFE`, costs one more look, not a wake-up:
/// each `WFE` is followed by a look at the token.
#[derive(Debug)]
pub struct Wfe {
    token: AtomicBool,
}

impl CoreParker for Wfe {
    const NEW: Self = Self {
        token: AtomicBool::new(false),
    };
}

impl Parker for Wfe {
    fn park(&self) {
        // Ordering: Acquire pairs with `unpark`: what its caller wrote is visible.
        //
        // Liveness: see the type.
        while !self.token.swap(false, Ordering::Acquire) {
            wait_for_event();
        }
    }

    fn unpark(&self) {
        // Ordering: Release pairs with `park`.
        self.token.store(true, Ordering::Release);
        send_event();
    }
}
