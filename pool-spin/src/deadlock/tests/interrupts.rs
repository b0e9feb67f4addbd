//! Handlers that unblock the core that they interrupt, on a thread whose interrupts are two flags.

use core::cell::Cell;
use std::thread_local;

use super::*;
use crate::machine::{InterruptLock, Interrupts};

thread_local! {
    static MASKED: Cell<bool> = const { Cell::new(false) };
    static PENDING: Cell<bool> = const { Cell::new(false) };
}

/// The interrupts of the core under test. The device's handler completes the wait.
struct Core;

impl Interrupts for Core {
    type State = bool;

    fn mask() -> bool {
        MASKED.replace(true)
    }

    fn restore(masked: bool) {
        MASKED.set(masked);
        if !masked && PENDING.take() {
            DEVICE.complete();
        }
    }

    fn halt() {
        unreachable!("the parker under test does not halt");
    }
}

type Chip = DetectingCores<Host, InterruptLock<Core>, 1, 64>;

static REPORTS: Reports = Reports::new();
static POOL: SpinPool<Chip> = SpinPool::with_deadlock_handler(|report| {
    assert!(MASKED.get(), "the lock is held");
    REPORTS.add(report);
});
static DEVICE: Completion<Chip> = Completion::new(&POOL);

#[test]
fn a_handler_completes_the_wait_of_the_core_that_it_interrupts() {
    POOL.run_with(0, |core| {
        for round in 1..=3 {
            // The device interrupts while the core holds the locks: its handler runs as soon as
            // they are released.
            let masked = Core::mask();
            PENDING.set(true);
            MASKED.set(masked);
            core.wait_for(&DEVICE).unwrap();
            assert!(!PENDING.get() && !MASKED.get());
            assert_eq!(POOL.blocking_state(0), Ok(State::Active));
            assert_eq!(REPORTS.count(), round, "this core is the only one");
        }
    })
    .unwrap();
}
