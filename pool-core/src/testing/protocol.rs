//! The sleep protocols of pools in tests.

use std::boxed::Box;

#[cfg(not(loom))]
use sleep_core::{ArrayChannel, Busy, Classic, ClassicSlot, HintSlot, Hints};
use sleep_core::{AwakeSet, IdlePolicy, Jec, LendSeats, SleepProtocol, Slot};

use super::TestParker;

/// A sleep protocol that tests run on.
pub(crate) trait TestProtocol:
    SleepProtocol<Parker = TestParker> + LendSeats + AwakeSet + Send + Sync + Sized + 'static
{
    fn new(parkers: impl Iterator<Item = TestParker>) -> Self;
}

/// Workers sleep as early as they may.
pub(crate) type TestJec = Jec<Box<[Slot<TestParker>]>>;

impl TestProtocol for TestJec {
    fn new(parkers: impl Iterator<Item = TestParker>) -> Self {
        Self::new(parkers.map(Slot::new).collect(), IdlePolicy::IMMEDIATE).unwrap()
    }
}

/// Workers that all wake up together.
#[cfg(not(loom))]
pub(crate) type TestClassic = Classic<Box<[ClassicSlot<TestParker>]>>;

#[cfg(not(loom))]
impl TestProtocol for TestClassic {
    fn new(parkers: impl Iterator<Item = TestParker>) -> Self {
        Self::new(
            parkers.map(ClassicSlot::new).collect(),
            IdlePolicy::IMMEDIATE,
        )
    }
}

#[cfg(not(loom))]
type TestChannel = ArrayChannel<TestParker, 2>;

/// Workers that wake up with hints.
#[cfg(not(loom))]
pub(crate) type TestHints = Hints<Box<[HintSlot<TestChannel>]>>;

#[cfg(not(loom))]
impl TestProtocol for TestHints {
    fn new(parkers: impl Iterator<Item = TestParker>) -> Self {
        let slots = parkers.map(|parker| HintSlot::new(TestChannel::new(parker)));
        Self::new(slots.collect(), IdlePolicy::IMMEDIATE).unwrap()
    }
}

/// Workers never sleep; no model has them, since loom would follow their searches without end.
#[cfg(not(loom))]
pub(crate) type TestBusy = Busy<TestParker, Box<[TestParker]>>;

#[cfg(not(loom))]
impl TestProtocol for TestBusy {
    fn new(parkers: impl Iterator<Item = TestParker>) -> Self {
        Self::new(parkers.collect(), IdlePolicy::IMMEDIATE)
    }
}
