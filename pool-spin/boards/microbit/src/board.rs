//! The board, as the pool and the program see it.

use core::time::Duration;

use pool_spin::{CoreNumber, CorePointer, Machine, Numbered, WfiIpi};
use program::{Board, Lossy, Mode};

use crate::{CORES, ipi::OwnInterrupt, timer};

/// A BBC micro:bit, version 1.
pub struct Microbit;

// SAFETY: 1. The pointer is null at first, and nothing else uses it. 2. Only handlers pre-empt the
// core, and they call only what the pool allows them.
unsafe impl Machine for Microbit {
    type Local = Numbered<OneCore>;
    type Parker = WfiIpi<Lossy<OwnInterrupt>>;

    // No `nanoseconds`: the counter has 32 bits of microseconds, and goes back to zero after 71
    // minutes. A worker that sleeps through that would count too little time, and no time after it.
}

impl Board for Microbit {
    type Interrupts = pool_spin::arch::CortexM;

    const NAME: &'static str = "microbit";

    fn print(text: &str) {
        semihosted::print(text);
    }

    fn mode() -> Mode {
        semihosted::mode()
    }

    fn now() -> Duration {
        timer::now()
    }

    fn interrupt_after(delay: Duration) {
        timer::interrupt_after(delay);
    }

    fn exit(passed: bool) -> ! {
        semihosted::exit(passed)
    }
}

/// The core.
pub struct OneCore;

// SAFETY: 1. There is one core. 2. There is one static.
unsafe impl CoreNumber for OneCore {
    fn number() -> usize {
        0
    }

    fn pointers() -> &'static [CorePointer] {
        static POINTERS: [CorePointer; CORES] = [const { CorePointer::new() }; CORES];
        &POINTERS
    }
}
