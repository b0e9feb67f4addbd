//! The pool on the two Cortex-M33 cores of an Arm MPS2+ board with FPGA image AN521.
#![no_std]
#![no_main]

mod board;
mod clock;
mod cores;
mod interrupts;
mod ipi;
mod registers;
mod second_core;
mod timer;

use core::panic::PanicInfo;

use cortex_m_rt::entry;
use program::{Blocking, DetectingPool, Pool};

use crate::board::Mps2An521;

/// The number of cores.
const CORES: usize = 2;

static POOL: Pool<Mps2An521, CORES> = program::pool();
/// The pool that detects deadlocks, and its tests.
static DETECTING: DetectingPool<Mps2An521, CORES> = program::detecting_pool();
static BLOCKING: Blocking<Mps2An521, CORES> = Blocking::new(&DETECTING);

/// Runs on the core that boots.
#[entry]
fn main() -> ! {
    clock::start();
    board::prepare_core();
    interrupts::enable();
    second_core::start();
    program::boot_core(&POOL, &BLOCKING)
}

/// Runs on the second core. Must not be inlined into code that runs before its floating-point unit
/// is enabled.
#[inline(never)]
fn second_main() -> ! {
    board::prepare_core();
    program::other_core(&POOL, &BLOCKING, 1)
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    semihosted::panic(info)
}
