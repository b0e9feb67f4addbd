//! sleep-core with the protocol of the jobs event counter.
#![no_std]
#![no_main]

use size::{Halt, sleep_program};
use sleep_core::{IdlePolicy, Inline, Jec, Slot};

sleep_program! {
    Jec<Inline<Slot<Halt>, 2>>,
    Jec::from_array([const { Slot::new(Halt) }; 2], IdlePolicy::IMMEDIATE)
}
