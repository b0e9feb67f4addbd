//! Starting the harts.

use core::arch::{asm, global_asm};

/// How many harts the pool uses.
pub const WORKERS: usize = 4;

/// One more than the highest number of a hart. `memory.x` has stacks for as many.
const HARTS: usize = 4;

// `riscv-rt` calls this on each hart before any Rust, with the hart's number in a0 and the argument
// that the hart was entered with in s1, and initialises memory if it returns 1: on the hart that
// boots. As `started_as`, it knows that one by its argument.
//
// Uses a0, t0 and tp; the stack is not needed, nor memory.
global_asm!(
    ".section .text._mp_hook, \"ax\"",
    ".global _mp_hook",
    "_mp_hook:",
    "mv tp, a0",               // The hart's number, for `this_hart`.
    "addi t0, s1, -1",         // From 0 if the argument is a worker's number, from 1;
    "sltiu t0, t0, {workers} - 1", // 1 if it is, and 0 if it is 0 or an address.
    "xori a0, t0, 1",          // The reverse of that is what to return.
    "fence",                   // What the hart that boots wrote before is read after this.
    "ret",
    workers = const WORKERS,
);

/// The worker that the hart which boots has chosen for this hart; none on that one.
pub fn started_as(argument: usize) -> Option<usize> {
    // The firmware enters the hart that boots with the address of a device tree, or null.
    (1..WORKERS).contains(&argument).then_some(argument)
}

/// Starts as many other harts as there are other workers. They find everything that this hart has
/// written.
pub fn start_others() {
    unsafe extern "C" {
        /// Where `riscv-rt` begins.
        fn _start();
    }

    // SAFETY: `fence w, rw` has what was written to memory before what is then written, by the
    // firmware too; it changes no register. Not `nomem`: the compiler keeps the order too.
    unsafe { asm!("fence w, rw", options(nostack, preserves_flags)) };
    let mut worker = 1;
    for hart in (0..HARTS).filter(|&hart| hart != this_hart()) {
        // Harts that are not there, or not for us, are refused.
        if worker < WORKERS
            && sbi_rt::hart_start(hart, _start as *const () as usize, worker).is_ok()
        {
            worker += 1;
        }
    }
    assert!(worker == WORKERS, "only {worker} harts of {WORKERS}");
}

/// The number of the hart that calls.
///
/// Supervisor mode has no register that tells. It is in `tp`, the thread pointer, since `_mp_hook`:
/// there are no threads, so nothing else uses that register.
pub fn this_hart() -> usize {
    let hart;
    // SAFETY: reads a register, and changes nothing. `pure`: its value never changes on a hart.
    unsafe { asm!("mv {}, tp", out(reg) hart, options(pure, nomem, nostack, preserves_flags)) };
    hart
}
