//! The cores: which one this is, and how the others start.

use core::{
    cell::UnsafeCell,
    sync::atomic::{AtomicBool, Ordering},
};

use aarch64_cpu::registers::{MPIDR_EL1, Readable};
use aarch64_rt::{Stack, start_core};
use smccc::Hvc;

/// How many there are. The first one boots.
pub const CORES: usize = 4;

/// Pages of 4 KiB for each core's stack.
pub const STACK_PAGES: usize = 64;

/// The number of the core that calls.
pub fn this_core() -> usize {
    MPIDR_EL1.read(MPIDR_EL1::Aff0) as usize
}

/// Has every core but the first call `run` with its number.
///
/// # Panics
/// In a second call.
pub fn start_others(run: fn(usize) -> !) {
    static STARTED: AtomicBool = AtomicBool::new(false);
    // Ordering: Relaxed, it only picks one caller.
    assert!(!STARTED.swap(true, Ordering::Relaxed), "they have started");
    for core in 1..CORES {
        let stack = STACKS.0[core - 1].get();
        // SAFETY: the stack is a static's, this core's alone since only one call comes here,
        // and not touched in any other way. All of RAM is mapped alike on every core.
        unsafe { start_core::<Hvc, _, STACK_PAGES>(affinity(core), stack, move || run(core)) }
            .expect("a core that does not start");
    }
}

/// What the firmware calls a core: its affinity fields of `MPIDR_EL1`.
fn affinity(core: usize) -> u64 {
    core as u64
}

struct Stacks([UnsafeCell<Stack<STACK_PAGES>>; CORES - 1]);

// SAFETY: only `start_others` uses them, and gives each to one core.
unsafe impl Sync for Stacks {}

static STACKS: Stacks = Stacks([const { UnsafeCell::new(Stack::new()) }; CORES - 1]);
