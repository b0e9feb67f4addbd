//! The cores: the number of this one, and the start of the others.

use core::{
    cell::UnsafeCell,
    sync::atomic::{AtomicBool, Ordering},
};

use aarch64_cpu::registers::{MPIDR_EL1, Readable};
use aarch64_rt::{Stack, start_core};
use smccc::Hvc;

/// The number of cores. The first one boots.
pub const CORES: usize = 4;

/// Pages of 4 KiB for each core's stack.
pub const STACK_PAGES: usize = 64;

/// Returns the number of the calling core.
pub fn this_core() -> usize {
    MPIDR_EL1.read(MPIDR_EL1::Aff0) as usize
}

/// Makes every core but the first call `run` with its number.
///
/// # Panics
/// If it is called a second time.
pub fn start_others(run: fn(usize) -> !) {
    static STARTED: AtomicBool = AtomicBool::new(false);
    // Ordering: Relaxed; it only picks one caller.
    assert!(!STARTED.swap(true, Ordering::Relaxed), "they have started");
    for core in 1..CORES {
        let stack = STACKS.0[core - 1].get();
        // SAFETY: the stack is in a static. Since only one call comes here, it belongs to this core
        // alone, and nothing else touches it. Every core maps all of RAM in the same way.
        unsafe { start_core::<Hvc, _, STACK_PAGES>(affinity(core), stack, move || run(core)) }
            .expect("a core that does not start");
    }
}

/// Returns the firmware's name of a core: its affinity fields of `MPIDR_EL1`.
fn affinity(core: usize) -> u64 {
    core as u64
}

struct Stacks([UnsafeCell<Stack<STACK_PAGES>>; CORES - 1]);

// SAFETY: only `start_others` uses them, and gives each to one core.
unsafe impl Sync for Stacks {}

static STACKS: Stacks = Stacks([const { UnsafeCell::new(Stack::new()) }; CORES - 1]);
