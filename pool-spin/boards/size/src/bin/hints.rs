//! sleep-core with the protocol hints.
#![no_std]
#![no_main]

use size::{Halt, sleep_program};
use sleep_core::{ArrayChannel, HintSlot, Hints, IdlePolicy, Inline};

sleep_program! {
    Hints<Inline<HintSlot<ArrayChannel<Halt>>, 2>>,
    Hints::from_array(
        [const { HintSlot::new(ArrayChannel::new(Halt)) }; 2],
        IdlePolicy::IMMEDIATE
    )
}
