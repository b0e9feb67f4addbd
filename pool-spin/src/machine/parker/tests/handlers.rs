//! Handlers that run between two halts, and halts without handlers.

use core::cell::Cell;
use std::thread_local;

use super::*;

thread_local! {
    static MASKED: Cell<bool> = const { Cell::new(false) };
    static TIMER_PENDING: Cell<bool> = const { Cell::new(false) };
    static IPI_PENDING: Cell<bool> = const { Cell::new(false) };
    /// Whether another core unparks this one in its next halt.
    static IS_WOKEN: Cell<bool> = const { Cell::new(false) };
    static PARKER: WfiIpi<OneCore> = const { WfiIpi::new() };
}

/// A core with a timer, whose handler unparks, and with an interrupt to itself, whose handler
/// clears it.
struct OneCore;

impl Interrupts for OneCore {
    type State = bool;

    fn mask() -> bool {
        MASKED.replace(true)
    }

    fn restore(masked: bool) {
        MASKED.set(masked);
        if !masked && TIMER_PENDING.take() {
            PARKER.with(Parker::unpark);
        }
        if !masked && IPI_PENDING.get() {
            Self::clear();
        }
    }

    fn halt() {
        assert!(MASKED.get(), "a handler may run before the halt");
        if IS_WOKEN.take() {
            PARKER.with(Parker::unpark);
        }
        assert!(
            TIMER_PENDING.get() || IPI_PENDING.get(),
            "nothing ends the halt"
        );
    }
}

impl Ipi for OneCore {
    type Interrupts = Self;

    fn this_core() -> usize {
        0
    }

    fn send(_core: usize) {
        IPI_PENDING.set(true);
    }

    fn clear() {
        IPI_PENDING.set(false);
    }
}

#[test]
fn a_handler_on_the_same_core_unparks() {
    TIMER_PENDING.set(true);
    PARKER.with(Parker::park);
    assert!(!MASKED.get());
}

/// Otherwise the interrupt would end each later halt at once, so that the core would never sleep.
#[test]
fn a_core_without_handlers_clears_the_interrupt_that_has_ended_its_halt() {
    MASKED.set(true);
    IS_WOKEN.set(true);
    PARKER.with(Parker::park);
    assert!(MASKED.get());
    assert!(!IPI_PENDING.get());
}
