//! Code that runs with interrupts masked.

use core::arch::asm;

/// Runs a closure with the interrupts of this core masked, and then restores the mask. Handlers of
/// interrupts that became pending run then.
pub fn masked<R>(closure: impl FnOnce() -> R) -> R {
    let before: u64;
    // SAFETY: reads the core's interrupt mask and sets bit I of it. Without `nomem`, so that the
    // compiler keeps the closure's accesses to memory after it.
    unsafe {
        asm!(
            "mrs {before}, daif", // the mask
            "msr daifset, #2",    // bit I: no interrupts from here on
            before = out(reg) before,
            options(nostack, preserves_flags),
        );
    }
    let result = closure();
    // SAFETY: restores the mask that was read above. Handlers save what they use. Without `nomem`
    // as above, and because handlers write to memory.
    unsafe {
        asm!(
            "msr daif, {before}", // the mask as it was
            "isb",                // what is pending is taken here, not some time later
            before = in(reg) before,
            options(nostack, preserves_flags),
        );
    }
    result
}
