//! The way from the loader to [`core_main`](crate::core_main), on every core.
//!
//! The loader enters at `_start`, on the boot core. The others wait for [`start_others`], begin in
//! the trampoline and join the boot core's way in the middle.

use core::{
    arch::global_asm,
    cell::UnsafeCell,
    hint, ptr,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use pvh::start_info::reader::StartInfoReader;
use x86_64::registers::control::{Cr0Flags, Cr4Flags, EferFlags};

use crate::{CORES, clock, core_main, local_apic};

/// The size of each core's stack in bytes.
const STACK_SIZE: usize = 256 * 1024;

/// The address of the trampoline: the beginning of a page below 1 MiB.
const TRAMPOLINE: usize = 0x8000;

/// The time that cores may take to start: much longer than they do, even where they take turns.
const START_TIMEOUT: Duration = Duration::from_secs(2);

/// The code segments of `tables.s`.
const CODE_32: u16 = 8;
const CODE_64: u16 = 16;

/// The number of the model-specific register EFER.
const EFER: u32 = 0xc000_0080;

/// Paging, protection, and floating-point errors by exception, without the flags that turn off the
/// caches.
const CR0: Cr0Flags = Cr0Flags::PAGING
    .union(Cr0Flags::PROTECTED_MODE_ENABLE)
    .union(Cr0Flags::WRITE_PROTECT)
    .union(Cr0Flags::NUMERIC_ERROR);

pvh::xen_elfnote_phys32_entry!(_start);

unsafe extern "C" {
    fn _start() -> !;
    static trampoline: u8;
    static trampoline_end: u8;
}

global_asm!(include_str!("boot/tables.s"));
global_asm!(
    include_str!("boot/long_mode.s"),
    cr4 = const Cr4Flags::PHYSICAL_ADDRESS_EXTENSION.bits(),
    efer = const EFER,
    efer_long_mode = const EferFlags::LONG_MODE_ENABLE.bits(),
    cr0 = const CR0.bits(),
    code_64 = const CODE_64,
    cores = const CORES,
    cores_started = sym CORES_STARTED,
    stack_size = const STACK_SIZE,
    stacks = sym STACKS,
    core_main = sym core_main,
);
global_asm!(
    include_str!("boot/trampoline.s"),
    code_32 = const CODE_32,
    options(att_syntax),
);

/// The number of cores that have arrived; more than [`CORES`] if some had to be turned away.
static CORES_STARTED: AtomicU32 = AtomicU32::new(0);

/// The stacks of the cores. Only assembly refers to them.
static STACKS: [Stack; CORES] = [const { Stack(UnsafeCell::new([0; STACK_SIZE])) }; CORES];

/// A stack, aligned as the calling convention requires.
#[repr(C, align(16))]
struct Stack(UnsafeCell<[u8; STACK_SIZE]>);

// SAFETY: each core uses a stack of its own, which its number selects.
unsafe impl Sync for Stack {}

/// Returns the command line that the loader was given.
///
/// # Safety
/// 1. `start_info` is the address that the loader passed in `ebx`.
/// 2. Since then, nothing has written to memory outside the program.
pub unsafe fn command_line(start_info: u32) -> &'static str {
    // SAFETY: by obligations 1 and 2, the loader's structures are there. Physical addresses are
    // virtual ones.
    unsafe { StartInfoReader::from_paddr_identity(start_info) }
        .and_then(|start_info| start_info.cmdline())
        .and_then(|line| line.to_str().ok())
        .unwrap_or("")
}

/// Starts all other cores, which call [`core_main`] one after the other or at the same time.
///
/// # Panics
/// If there are fewer cores than [`CORES`].
///
/// # Safety
/// 1. The page at [`TRAMPOLINE`] is unused memory.
/// 2. The other cores run nothing, so this is not called twice.
pub unsafe fn start_others() {
    let start = &raw const trampoline;
    // SAFETY: both are in the one section of `trampoline.s`, the end after the start.
    let length = unsafe { (&raw const trampoline_end).offset_from_unsigned(start) };
    let page = ptr::with_exposed_provenance_mut::<u8>(TRAMPOLINE);
    // SAFETY: the section has this length. By obligation 1, the page is free, and it is far longer.
    unsafe { page.copy_from_nonoverlapping(start, length) };

    // The manufacturers' protocol requires these waits. The second startup is for cores that missed
    // the first; others ignore it.
    // SAFETY: 1. By our obligation 2.
    unsafe { local_apic::reset_others() };
    clock::wait(Duration::from_millis(10));
    for _ in 0..2 {
        // SAFETY: 1. The trampoline is there.
        unsafe { local_apic::start_others(TRAMPOLINE) };
        clock::wait(Duration::from_micros(200));
    }

    let start = clock::now();
    // Ordering: Relaxed; a plain counter.
    while (CORES_STARTED.load(Ordering::Relaxed) as usize) < CORES {
        assert!(clock::now() - start < START_TIMEOUT, "too few cores");
        hint::spin_loop();
    }
}
