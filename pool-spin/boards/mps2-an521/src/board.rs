//! The board, as the pool and the program see it.

use core::time::Duration;

use cortex_m::peripheral::{ICB, NVIC};
use pool_spin::{CoreNumber, CorePointer, Machine, Numbered, WfiIpi};
use program::{Board, Lossy, Mode};

use crate::{CORES, clock, interrupts::Interrupt, ipi::Mhu, registers::Device, timer};

/// An Arm MPS2+ board with FPGA image AN521.
pub struct Mps2An521;

// SAFETY: 1. the array is null at first, and nothing else uses it; 2. nothing
// pre-empts a core but its handlers, which call what the pool allows them.
unsafe impl Machine for Mps2An521 {
    type Local = Numbered<Cores>;
    type Parker = WfiIpi<Lossy<Mhu>>;
}

impl Board for Mps2An521 {
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

/// The cores, which find their number in a register of their own.
pub struct Cores;

// SAFETY: 1. Each core has its own identity register at this address, which nothing writes: 0 for
// the core that boots and 1 for the other. 2. There is one static. 3. The timer's handler does what
// the program's `timer_interrupt` does, and the other one touches no pool.
unsafe impl CoreNumber for Cores {
    fn number() -> usize {
        // SAFETY: 1. the core's identity registers are there, and only read.
        const CPU_IDENTITY: Device = unsafe { Device::at(0x5001_F000) };
        CPU_IDENTITY.register(0).read() as usize
    }

    fn pointers() -> &'static [CorePointer] {
        static POINTERS: [CorePointer; CORES] = [const { CorePointer::new() }; CORES];
        &POINTERS
    }
}

/// What every core does before it uses anything that the cores share.
pub fn prepare_core() {
    // ACTLR.EXTEXCLALL: every exclusive access asks the monitor that the cores share. Without it
    // only those to shareable memory do, and without a memory protection unit none is: two cores
    // could both succeed in one compare-and-swap.
    const EXTEXCLALL: u32 = 1 << 29;
    // SAFETY: the register is the core's own, and nothing else changes it. More accesses than
    // before go to the shared monitor, which is right for all memory.
    unsafe { (*ICB::PTR).actlr.modify(|actlr| actlr | EXTEXCLALL) };
    cortex_m::asm::dsb();
    cortex_m::asm::isb();
    // SAFETY: no critical section is built on this mask. Where the interrupt is taken there is a
    // handler.
    unsafe { NVIC::unmask(Interrupt::Mhu0) };
}
