//! What the parkers need of a core's interrupts and events.

/// The interrupts of the core that calls: masking them all, and halting until one is pending.
///
/// Implemented for the usual architectures in `pool_spin::arch`.
pub trait Interrupts: 'static {
    /// How the interrupts were masked before.
    type State: Copy;

    /// Masks all interrupts of this core: they stay pending. Returns how it was.
    ///
    /// A barrier to the compiler, as the others are.
    fn mask() -> Self::State;

    /// Masks the interrupts as they were. Handlers of those that are pending and no longer masked
    /// run now.
    fn restore(state: Self::State);

    /// With interrupts masked: halts until an interrupt is pending for this core, and returns at
    /// once if one is, also if it came before the call. May return for no reason. Masked at the end
    /// as at the beginning.
    fn halt();
}

/// Interrupts from core to core.
///
/// The implementation knows the interrupt controller. Cores have numbers of its choice, below
/// `usize::MAX - 1`; they need not be workers' numbers.
pub trait Ipi: 'static {
    /// The interrupts of a core.
    type Interrupts: Interrupts;

    /// The number of the core that calls.
    fn this_core() -> usize;

    /// Makes the interrupt pending on a core, which may be the one that calls. May be called from
    /// interrupt handlers, and by several cores at once.
    ///
    /// What this core wrote to memory before must be visible to that core when the interrupt is:
    /// as a rule that takes a barrier before the write to the controller.
    fn send(core: usize);

    /// Makes the interrupt no longer pending on the core that calls; does nothing if it is not.
    /// Called by [`WfiIpi`](crate::WfiIpi) after each halt, and by the firmware's own handler for
    /// the interrupt; where only a handler can do it, as on x86, by that alone.
    ///
    /// What this core reads from memory afterwards must be read after that: as a rule that takes a
    /// barrier behind the write to the controller. An interrupt that is sent later becomes pending
    /// again.
    fn clear();
}

/// Events between cores, as Arm has them: each core has a register of one bit.
///
/// Implemented for Arm's architectures in `pool_spin::arch`.
pub trait Events: 'static {
    /// Sets every core's event register, after all that this core wrote before has become visible.
    /// May be called from interrupt handlers.
    fn send();

    /// Halts until this core's event register is set, and clears it. May return for no reason.
    fn wait();
}
