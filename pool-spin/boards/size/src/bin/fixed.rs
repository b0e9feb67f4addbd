//! sleep-core with the protocol of the jobs event counter, and a policy that is fixed when the
//! program is compiled.
#![no_std]
#![no_main]

use size::{Halt, sleep_program};
use sleep_core::{IdlePolicy, Inline, Jec, Slot};

/// Sleeps as soon as it is safe.
struct Immediate;

impl AsRef<IdlePolicy> for Immediate {
    fn as_ref(&self) -> &IdlePolicy {
        const { &IdlePolicy::IMMEDIATE }
    }
}

sleep_program! {
    Jec<Inline<Slot<Halt>, 2>, Immediate>,
    Jec::from_array([const { Slot::new(Halt) }; 2], Immediate)
}
