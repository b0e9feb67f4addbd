//! sleep-core with the classic protocol.
#![no_std]
#![no_main]

use size::{Halt, sleep_program};
use sleep_core::{Classic, ClassicSlot, IdlePolicy, Inline};

sleep_program! {
    Classic<Inline<ClassicSlot<Halt>, 2>>,
    Classic::from_array([const { ClassicSlot::new(Halt) }; 2], IdlePolicy::IMMEDIATE)
}
