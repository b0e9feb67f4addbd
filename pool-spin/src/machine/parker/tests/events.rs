//! A core whose exclusive accesses set its own event register, as on the RP2350: a `WFE` after one
//! returns at once.

use core::{cell::Cell, fmt};
use std::thread_local;

use super::*;
use crate::{machine::Events, primitive};

thread_local! {
    static EVENT_REGISTER: Cell<bool> = const { Cell::new(false) };
    static WAITS: Cell<usize> = const { Cell::new(0) };
    static SLEEPS: Cell<usize> = const { Cell::new(0) };
}

/// The token of the parkers in this crate's tests: an exchange sets the event register of the core,
/// here the thread, that executes it. A load does not.
pub(in crate::machine::parker) struct AtomicBool(primitive::AtomicBool);

impl AtomicBool {
    pub(in crate::machine::parker) const fn new(value: bool) -> Self {
        Self(primitive::AtomicBool::new(value))
    }

    pub(in crate::machine::parker) fn load(&self, ordering: Ordering) -> bool {
        self.0.load(ordering)
    }

    pub(in crate::machine::parker) fn swap(&self, value: bool, ordering: Ordering) -> bool {
        EVENT_REGISTER.set(true);
        self.0.swap(value, ordering)
    }
}

impl fmt::Debug for AtomicBool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

static PARKER: Wfe<ExclusivesAreEvents> = Wfe::new();

/// The events of that core. When it sleeps, another core unparks it.
struct ExclusivesAreEvents;

impl Events for ExclusivesAreEvents {
    fn send() {
        EVENT_REGISTER.set(true);
    }

    fn wait() {
        WAITS.set(WAITS.get() + 1);
        assert!(WAITS.get() < 1_000, "the core never sleeps");
        if !EVENT_REGISTER.take() {
            SLEEPS.set(SLEEPS.get() + 1);
            PARKER.unpark();
            assert!(EVENT_REGISTER.take(), "the core sleeps on");
        }
    }
}

#[test]
fn wfe_sleeps_although_exclusive_accesses_are_events() {
    const PARKS: usize = 10;
    for _ in 0..PARKS {
        PARKER.park();
    }
    assert_eq!(SLEEPS.get(), PARKS);
    // Each exchange that took a token ended the first wait of the next park.
    assert_eq!(WAITS.get(), 2 * PARKS - 1);
}
