//! The generic timer: one counter that all cores read, and an alarm on each.

use core::time::Duration;

use aarch64_cpu::{
    asm::barrier,
    registers::{
        CNTFRQ_EL0, CNTV_CTL_EL0, CNTV_CVAL_EL0, CNTVCT_EL0, ReadWriteable, Readable, Writeable,
    },
};
use arm_gic::IntId;

/// The virtual timer's interrupt: number 27, private to each core.
pub const INTERRUPT: IntId = IntId::ppi(11);

/// Returns the time since the counter started, which is the same on all cores.
pub fn now() -> Duration {
    // Without the barrier, the core may read the counter before it completes earlier instructions.
    barrier::isb(barrier::SY);
    let (count, frequency) = (CNTVCT_EL0.get(), CNTFRQ_EL0.get());
    let nanoseconds = (count % frequency) * 1_000_000_000 / frequency;
    Duration::from_secs(count / frequency) + Duration::from_nanos(nanoseconds)
}

/// Makes the timer interrupt this core after this time, once.
pub fn interrupt_after(delay: Duration) {
    let ticks = delay.as_nanos() * u128::from(CNTFRQ_EL0.get()) / 1_000_000_000;
    CNTV_CVAL_EL0.set(
        CNTVCT_EL0
            .get()
            .saturating_add(ticks.try_into().unwrap_or(u64::MAX)),
    );
    CNTV_CTL_EL0.write(CNTV_CTL_EL0::ENABLE::SET);
    barrier::isb(barrier::SY);
}

/// Silences this core's timer. Returns whether it was active: an interrupt that is on its way when
/// its source falls silent may still arrive.
pub fn silence() -> bool {
    let was_enabled = CNTV_CTL_EL0.is_set(CNTV_CTL_EL0::ENABLE);
    CNTV_CTL_EL0.modify(CNTV_CTL_EL0::ENABLE::CLEAR);
    barrier::isb(barrier::SY);
    was_enabled
}
