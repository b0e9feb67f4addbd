//! The board, as the pool and the program see it.

use core::time::Duration;

use cortex_m::peripheral::{ICB, NVIC};
use pool_spin::{Machine, Numbered, WfiIpi};
use program::{Board, Lossy, Mode};

use crate::{clock, cores::Cores, interrupts::Interrupt, ipi::Mhu, timer};

/// An Arm MPS2+ board with FPGA image AN521.
pub struct Mps2An521;

// SAFETY: 1. The array is null at first, and nothing else uses it. 2. Only handlers pre-empt a
// core, and they call only what the pool allows them.
unsafe impl Machine for Mps2An521 {
    type Local = Numbered<Cores>;
    type Parker = WfiIpi<Lossy<Mhu>>;

    // No `nanoseconds`: the counter has 32 bits of microseconds, and goes back to zero after 71
    // minutes. A worker that sleeps through that would count too little time, and no time after it.
}

impl Board for Mps2An521 {
    type Interrupts = pool_spin::arch::CortexM;

    const NAME: &'static str = "mps2-an521";

    fn print(text: &str) {
        semihosted::print(text);
    }

    fn mode() -> Mode {
        semihosted::mode()
    }

    fn now() -> Duration {
        clock::now()
    }

    fn interrupt_after(delay: Duration) {
        timer::start(delay);
    }

    fn exit(passed: bool) -> ! {
        semihosted::exit(passed)
    }
}

/// Prepares a core, before it uses anything that the cores share.
pub fn prepare_core() {
    // ACTLR.EXTEXCLALL: every exclusive access asks the monitor that the cores share. Without it,
    // only accesses to shareable memory do, and without a memory protection unit no memory is
    // shareable: two cores could both succeed in one compare-and-swap.
    const EXTEXCLALL: u32 = 1 << 29;
    // SAFETY: the register belongs to the core, and nothing else changes it. More accesses than
    // before go to the shared monitor, which is correct for all memory.
    unsafe { (*ICB::PTR).actlr.modify(|actlr| actlr | EXTEXCLALL) };
    cortex_m::asm::dsb();
    cortex_m::asm::isb();
    // SAFETY: no critical section is built on this mask. Where the interrupt is taken, there is a
    // handler.
    unsafe { NVIC::unmask(Interrupt::Mhu0) };
}
