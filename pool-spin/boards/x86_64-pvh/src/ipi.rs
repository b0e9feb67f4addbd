//! Interrupts from core to core, by the local APIC.

use pool_spin::{Ipi, arch::X86_64};

use crate::{core_local, local_apic};

/// The vector of interrupts from core to core. Vectors below 32 belong to the processor.
pub const VECTOR: u8 = 0x40;

/// An interrupt at [`VECTOR`], which one core's local APIC sends to another's. The number of a core
/// is that of its local APIC.
///
/// # Liveness
/// The receiving core's controller keeps one such interrupt until that core takes it, and one more
/// while the core handles the first. An interrupt is lost only if one is kept already; the core
/// takes that one later, which serves for both.
///
/// # Visibility
/// The core that takes the interrupt sees what the sender wrote before: the controller's registers
/// are uncached, and the processor completes earlier writes to memory before a write to those. So
/// this needs no fence. (x2APIC mode, where the registers are not memory, would need one.)
#[derive(Debug)]
pub struct ApicIpi(());

impl Ipi for ApicIpi {
    type Interrupts = X86_64;

    fn this_core() -> usize {
        core_local::apic_id()
    }

    fn send(core: usize) {
        local_apic::interrupt(core as u8, VECTOR);
    }

    /// Signals the end of the interrupt, from the handler alone: on x86 an interrupt is pending
    /// until it is taken. The controller holds back the next one until the end is signaled. Later
    /// reads of the core are performed after it took the interrupt, and so after the writes that
    /// the interrupt announced. The return from the handler lets no access pass.
    fn clear() {
        local_apic::end_of_interrupt();
    }
}
