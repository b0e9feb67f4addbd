//! The board, as the pool and the program see it.

use core::time::Duration;

use aarch64_cpu::registers::{TPIDR_EL1, Writeable};
use pool_spin::{Machine, TpidrEl1};
use program::{Board, Mode};

use crate::timer;

/// QEMU's machine `virt`.
#[derive(Debug)]
pub struct Virt(());

// SAFETY: 1. `clear_worker` sets the register to null, and nothing else uses it. 2. Only
// handlers pre-empt a core, and they call only what the pool allows them.
unsafe impl Machine for Virt {
    type Local = TpidrEl1;
    #[cfg(not(feature = "wfe"))]
    type Parker = pool_spin::WfiIpi<program::Lossy<crate::ipi::Sgi>>;
    #[cfg(feature = "wfe")]
    type Parker = pool_spin::Wfe<pool_spin::arch::Aarch64>;

    fn nanoseconds() -> Option<u64> {
        u64::try_from(timer::now().as_nanos()).ok()
    }
}

impl Board for Virt {
    type Interrupts = pool_spin::arch::Aarch64;

    const NAME: &'static str = "aarch64-virt";

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

/// Sets the calling core's pointer to null: it is not a worker yet. After a reset, `TPIDR_EL1` may
/// hold anything.
pub fn clear_worker() {
    TPIDR_EL1.set(0);
}
