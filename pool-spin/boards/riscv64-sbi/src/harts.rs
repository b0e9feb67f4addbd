//! The start of the harts.

use core::arch::{asm, global_asm};

/// The number of harts that the pool uses.
pub const WORKERS: usize = 4;

/// The highest number of a hart plus one. `memory.x` has stacks for as many.
const HARTS: usize = 4;

/// How often all harts are tried: for seconds, since the firmware boots within one.
const ATTEMPTS: usize = 1_000_000;

// `riscv-rt` calls this on each hart before any Rust, with the hart's number in a0 and the argument
// that the hart was entered with in s1. It initializes memory if this returns 1: on the hart that
// boots, which this code recognizes by its argument, as `started_as` does.
//
// Uses a0, t0 and tp, and neither stack nor memory.
global_asm!(
    ".section .text._mp_hook, \"ax\"",
    ".global _mp_hook",
    "_mp_hook:",
    "mv tp, a0",               // The hart's number, for `this_hart`.
    "addi t0, s1, -1",         // From 0 if the argument is a worker's number, from 1;
    "sltiu t0, t0, {workers} - 1", // 1 if it is, and 0 if it is 0 or an address.
    "xori a0, t0, 1",          // The reverse of that is what to return.
    "fence",                   // Later reads see what the hart that boots wrote before.
    "ret",
    workers = const WORKERS,
);

/// Returns the worker that the hart that boots has chosen for this hart, and `None` on that one.
pub fn started_as(argument: usize) -> Option<usize> {
    // The firmware enters the hart that boots with the address of a device tree, or null.
    (1..WORKERS).contains(&argument).then_some(argument)
}

/// Starts as many other harts as there are other workers. They see everything that this hart has
/// written.
pub fn start_others() {
    unsafe extern "C" {
        /// Begins `riscv-rt`.
        fn _start();
    }

    // SAFETY: `fence w, rw` orders earlier writes to memory before later accesses, also those of
    // the firmware; it changes no register. Not `nomem`: the compiler keeps the order, too.
    unsafe { asm!("fence w, rw", options(nostack, preserves_flags)) };
    let mut worker = 1;
    let mut has_started = [false; HARTS];
    has_started[this_hart()] = true;
    // The firmware refuses harts that are not there or not for us, and in the same way harts that
    // it has not booted yet itself. So those that were refused are tried again.
    for _ in 0..ATTEMPTS {
        for (hart, has_started) in has_started.iter_mut().enumerate() {
            if worker < WORKERS
                && !*has_started
                && sbi_rt::hart_start(hart, _start as *const () as usize, worker).is_ok()
            {
                *has_started = true;
                worker += 1;
            }
        }
        if worker == WORKERS {
            return;
        }
    }
    panic!("only {worker} harts of {WORKERS}");
}

/// Returns the number of the calling hart.
///
/// Supervisor mode has no register for it. `_mp_hook` has put it into `tp`, the thread pointer:
/// there are no threads, so nothing else uses that register.
pub fn this_hart() -> usize {
    let hart;
    // SAFETY: reads a register, and changes nothing. `pure`: its value never changes on a hart.
    unsafe { asm!("mv {}, tp", out(reg) hart, options(pure, nomem, nostack, preserves_flags)) };
    hart
}
