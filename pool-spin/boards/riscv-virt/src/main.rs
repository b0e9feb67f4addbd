//! The program on QEMU's RISC-V machine `virt` in machine mode, 64 and 32 bits: no firmware, no
//! operating system. Hart `n` is worker `n`; hart 0 boots.
#![no_std]
#![no_main]

mod board;
mod clint;
mod harts;
mod interrupts;
mod ipi;
mod panic;
mod timer;

use program::{Blocking, DetectingPool, Pool};

use crate::board::Virt;

/// The number of harts, which are numbered from 0. `memory.x` has stacks for as many.
const HARTS: usize = 4;

static POOL: Pool<Virt, HARTS> = program::pool();
/// The pool that detects deadlocks, and its tests.
static DETECTING: DetectingPool<Virt, HARTS> = program::detecting_pool();
static BLOCKING: Blocking<Virt, HARTS> = Blocking::new(&DETECTING);

/// Runs on every hart, called by `riscv-rt`: on hart 0 at once, on the others when
/// [`harts::start_others`] lets them.
#[riscv_rt::entry]
fn main(hart: usize) -> ! {
    interrupts::prepare();
    if hart == 0 {
        harts::start_others();
        interrupts::enable();
        program::boot_core(&POOL, &BLOCKING)
    } else {
        program::other_core(&POOL, &BLOCKING, hart)
    }
}
