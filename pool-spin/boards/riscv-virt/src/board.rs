//! The board, as the pool and the program see it.

use core::time::Duration;

use pool_spin::{Machine, Mscratch, Traced, WfiIpi};
use program::{Board, Lossy, Mode};

use crate::{ipi::SoftwareInterrupt, timer};

/// QEMU's machine `virt`.
#[derive(Debug)]
pub struct Virt;

// SAFETY: 1. `interrupts::prepare` sets the register to null, and nothing else uses it. 2. Only
// handlers pre-empt a core, and they call only what the pool allows them.
unsafe impl Machine for Virt {
    type Local = Mscratch;
    type Parker = Traced<WfiIpi<Lossy<SoftwareInterrupt>>, Self>;

    fn nanoseconds() -> Option<u64> {
        u64::try_from(timer::now().as_nanos()).ok()
    }
}

impl Board for Virt {
    type Interrupts = pool_spin::arch::MachineMode;

    const NAME: &'static str = if cfg!(target_pointer_width = "64") {
        "riscv64-virt"
    } else {
        "riscv32-virt"
    };

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
