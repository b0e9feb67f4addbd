//! The board, as the pool and the program see it.

use core::time::Duration;

use pool_spin::{Machine, Sscratch, WfiIpi};
use program::{Board, Lossy, Mode};

use crate::{ipi::SoftwareInterrupt, timer};

/// A RISC-V machine whose firmware has the SBI.
#[derive(Debug)]
pub struct Sbi;

// SAFETY: 1. `interrupts::prepare` sets the register to null, and nothing else uses it. 2. Only
// handlers pre-empt a core, and they call only what the pool allows them.
unsafe impl Machine for Sbi {
    type Local = Sscratch;
    type Parker = WfiIpi<Lossy<SoftwareInterrupt>>;

    fn nanoseconds() -> Option<u64> {
        u64::try_from(timer::now().as_nanos()).ok()
    }
}

impl Board for Sbi {
    type Interrupts = pool_spin::arch::SupervisorMode;

    const NAME: &'static str = "riscv64-sbi";

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
