//! sleep-core with the classic protocol.
#![no_std]
#![no_main]

use size::{Halt, sleep_program};
use sleep_core::{Classic, IdlePolicy, Slot};

sleep_program! {
    Classic<Halt, [Slot<Halt>; 2]>,
    Classic::from_array([const { Slot::new(Halt) }; 2], IdlePolicy::IMMEDIATE)
}
