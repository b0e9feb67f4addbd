//! The program on RISC-V in supervisor mode, under firmware with the supervisor binary interface
//! (SBI), such as OpenSBI. Any hart may boot: the hart that does is worker 0, and starts the others
//! as workers 1, 2…
#![no_std]
#![no_main]

mod board;
mod harts;
mod interrupts;
mod ipi;
mod panic;
mod timer;

use program::{Blocking, DetectingPool, Pool};

use crate::{board::Sbi, harts::WORKERS};

static POOL: Pool<Sbi, WORKERS> = program::pool();
/// The pool that detects deadlocks, and its tests.
static DETECTING: DetectingPool<Sbi, WORKERS> = program::detecting_pool();
static BLOCKING: Blocking<Sbi, WORKERS> = Blocking::new(&DETECTING);

/// Runs on every hart, called by `riscv-rt`: on the one that boots, and on those that it starts.
#[riscv_rt::entry]
fn main() -> ! {
    interrupts::prepare();
    match harts::worker() {
        0 => {
            harts::start_others();
            interrupts::enable();
            program::boot_core(&POOL, &BLOCKING)
        }
        worker => program::other_core(&POOL, &BLOCKING, worker),
    }
}
