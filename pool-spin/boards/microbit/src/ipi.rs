//! Interrupts from core to core, where there is one core: from its handlers to its worker.

use cortex_m::{asm::dsb, peripheral::NVIC};
use nrf_pac::Interrupt;
use pool_spin::{Ipi, arch::CortexM};

/// Software interrupt 0, which has no device behind it.
///
/// # Liveness
/// Only a handler on this core can unpark a worker that halts, and the handler's own interrupt has
/// ended the halt: the parker halts with interrupts masked, lets handlers run, masks them again and
/// looks for the token before it halts once more. So no wake-up depends on this interrupt, and
/// losing some does no harm. It is sent all the same, since [`Ipi`] promises it. It stays pending
/// until its handler, or the parker before that, clears it.
///
/// # Visibility
/// A core sees its own writes in order, even across a handler. The barriers complete the write to
/// the interrupt controller before the next instruction.
pub struct OwnInterrupt;

impl Ipi for OwnInterrupt {
    type Interrupts = CortexM;

    fn this_core() -> usize {
        0
    }

    fn send(_core: usize) {
        NVIC::pend(Interrupt::SWI0);
        dsb();
    }

    fn clear() {
        NVIC::unpend(Interrupt::SWI0);
        dsb();
    }
}
