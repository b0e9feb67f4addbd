//! The start of the harts.

use core::{
    arch::{asm, global_asm},
    sync::atomic::{AtomicU32, AtomicUsize, Ordering},
    time::Duration,
};

use crate::timer;

/// The number of harts that the pool uses.
pub const WORKERS: usize = 4;

/// The highest number of a hart plus one. `memory.x` has stacks for as many.
const HARTS: usize = 4;

/// How long all harts are tried. The firmware boots within a second, and in an emulator that gets
/// little of a busy machine within many.
const LIMIT: Duration = Duration::from_secs(60);

/// One until the hart that boots has come. The initial value keeps the word out of the memory that
/// `riscv-rt` clears.
static IS_TO_BOOT: AtomicU32 = AtomicU32::new(1);

/// The worker that each hart is: 0 on the hart that boots.
///
/// The firmware can pass a number to a hart that it starts, and this program does not rely on it:
/// OpenSBI before 1.2 lets a hart go that is about to wait before it has stored that number. Such a
/// hart comes as the one that boots does.
static WORKER_OF: [AtomicUsize; HARTS] = [const { AtomicUsize::new(0) }; HARTS];

// `riscv-rt` calls this on each hart before any Rust, with the hart's number in a0, and initializes
// memory if this returns 1: on the first hart, which is the one that boots.
//
// Uses a0, t0 and tp, no stack, and of memory only the word.
global_asm!(
    ".section .text._mp_hook, \"ax\"",
    ".global _mp_hook",
    ".option push",
    ".option arch, +a",                // Else the assembler knows no atomic instructions.
    "_mp_hook:",
    "mv tp, a0",                       // The hart's number, for `this_hart`.
    "la t0, {word}",
    "amoswap.w.aqrl a0, zero, (t0)",   // 1 on the first hart, and 0 on all others.
    "fence",                           // Later reads see what the first hart wrote before.
    "ret",
    ".option pop",
    word = sym IS_TO_BOOT,
);

/// Returns the worker that the calling hart is: 0 on the one that boots.
pub fn worker() -> usize {
    // Ordering: Relaxed suffices. The number was written before the hart was started, and both
    // harts have had a fence since.
    WORKER_OF[this_hart()].load(Ordering::Relaxed)
}

/// Starts as many other harts as there are other workers. They see everything that this hart has
/// written.
pub fn start_others() {
    let mut worker = 1;
    let mut has_started = [false; HARTS];
    has_started[this_hart()] = true;
    // The firmware refuses harts that are not there or not for us, and in the same way harts that
    // it has not booted yet itself. So those that were refused are tried again.
    let begin = timer::now();
    while timer::now() - begin < LIMIT {
        for (hart, has_started) in has_started.iter_mut().enumerate() {
            if worker < WORKERS && !*has_started && start(hart, worker) {
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

/// Starts a hart as this worker, unless the firmware refuses.
fn start(hart: usize, worker: usize) -> bool {
    unsafe extern "C" {
        /// Begins `riscv-rt`.
        fn _start();
    }

    // Ordering: Relaxed; the fence below orders it.
    WORKER_OF[hart].store(worker, Ordering::Relaxed);
    // SAFETY: `fence w, rw` orders earlier writes to memory before later accesses, also those of
    // the firmware; it changes no register. Not `nomem`: the compiler keeps the order, too.
    unsafe { asm!("fence w, rw", options(nostack, preserves_flags)) };
    sbi_rt::hart_start(hart, _start as *const () as usize, 0).is_ok()
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
