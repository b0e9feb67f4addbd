//! The pool on the one Cortex-M0 core of a BBC micro:bit, an nRF51822.
#![no_std]
#![no_main]

mod board;
mod interrupts;
mod ipi;
mod timer;

use core::panic::PanicInfo;

use cortex_m_rt::entry;
use program::{Blocking, DetectingPool, Pool};

use crate::board::Microbit;

/// The number of cores.
const CORES: usize = 1;

static POOL: Pool<Microbit, CORES> = program::pool();
/// The pool that detects deadlocks, and its tests.
static DETECTING: DetectingPool<Microbit, CORES> = program::detecting_pool();
static BLOCKING: Blocking<Microbit, CORES> = Blocking::new(&DETECTING);

#[entry]
fn main() -> ! {
    timer::start();
    interrupts::enable();
    program::boot_core(&POOL, &BLOCKING)
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    semihosted::panic(info)
}
