//! Interrupts from core to core: message handling unit 0.

use cortex_m::{asm::dsb, peripheral::NVIC};
use pool_spin::{CoreNumber as _, Ipi, arch::CortexM};

use crate::{
    cores::Cores,
    interrupts::Interrupt,
    registers::{Device, Register},
};

/// The message handling unit (MHU). It has a word per core, and interrupts the core while that word
/// is not zero.
///
/// # Liveness
/// The word stays set until the core that it interrupts clears it, so an interrupt stays pending
/// even where it is masked. `clear` clears the word first and the interrupt controller's latch
/// second. A core that sends meanwhile sets the word again. While the word is set, the controller's
/// latch cannot be cleared (rule R_CVJS of the architecture: the line is a level). So that
/// interrupt is kept, whichever of the two steps it follows.
///
/// # Visibility
/// `send` completes all writes to memory, by `dsb`, before it sets the word. `clear` completes its
/// writes before later reads. So a core that clears an interrupt, or several at once, reads what
/// their senders wrote before.
pub struct Mhu;

impl Ipi for Mhu {
    type Interrupts = CortexM;

    fn this_core() -> usize {
        Cores::number()
    }

    fn send(core: usize) {
        dsb();
        MHU[core].set.write(1);
    }

    fn clear() {
        MHU[Self::this_core()].clear.write(1);
        // The line must fall before the latch is cleared, or clearing it has no effect.
        dsb();
        NVIC::unpend(Interrupt::Mhu0);
        dsb();
    }
}

/// The registers for interrupts to one core.
struct ToCore {
    set: Register,
    clear: Register,
}

impl ToCore {
    const fn new(core: usize) -> Self {
        // SAFETY: 1. The unit's registers are there, and touch no memory.
        const MHU0: Device = unsafe { Device::at(0x5000_3000) };
        Self {
            set: MHU0.register(0x10 * core + 0x4),
            clear: MHU0.register(0x10 * core + 0x8),
        }
    }
}

static MHU: [ToCore; crate::CORES] = [ToCore::new(0), ToCore::new(1)];
