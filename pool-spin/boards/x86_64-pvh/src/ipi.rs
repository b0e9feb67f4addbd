//! Interrupts from core to core, by the local APIC.

use pool_spin::{Ipi, arch::X86_64};

use crate::{core_local, local_apic};

/// The vector of interrupts from core to core. Vectors below 32 belong to the processor.
pub const VECTOR: u8 = 0x40;

/// An interrupt at [`VECTOR`], sent by one core's local APIC to another's. Cores are
/// numbered by their local APIC.
///
/// # Liveness
/// The controller of the core that is sent to keeps one such interrupt until that core takes it,
/// and one more while it handles the first. Only if one is already kept the next is lost; it would
/// have been taken with the first, which has not been taken yet.
///
/// # Visibility
/// What the sender wrote before is visible to who takes the interrupt: the controller's registers
/// are uncached, and the processor completes its earlier writes to memory before one to those. No
/// fence is needed for that (x2APIC mode, where the registers are no memory, would need one).
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

    /// For the handler alone: on x86 an interrupt is pending until it is taken, and what is left to
    /// do is to tell the controller, which holds back the next until then. What the core reads next
    /// is read after the interrupt was taken, and so after what it announced; and the return from
    /// the handler lets nothing pass.
    fn clear() {
        local_apic::end_of_interrupt();
    }
}
