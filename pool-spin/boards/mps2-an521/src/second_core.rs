//! The start of the second core, by a vector table: a Cortex-M takes its first stack pointer and
//! instruction from there.

use core::{cell::UnsafeCell, mem::MaybeUninit};

use cortex_m::{
    asm::{dsb, isb},
    peripheral::SCB,
    register::msplim,
};

use crate::registers::{Device, Register};

/// Makes the second core run [`second_main`](crate::second_main). The first core calls this once.
pub fn start() {
    // SAFETY: 1. The registers are there. The two that are used touch memory only through the core
    // that they start, which gets a valid vector table.
    const SYSTEM_CONTROL: Device = unsafe { Device::at(0x5002_1000) };
    const INITSVTOR1: Register = SYSTEM_CONTROL.register(0x114);
    const CPUWAIT: Register = SYSTEM_CONTROL.register(0x118);

    let table = (&raw const VECTOR_TABLE).addr();
    INITSVTOR1.write(u32::try_from(table).expect("an address has 32 bits"));
    // Completes all writes of this core, and the address of the table, before the other core
    // starts.
    dsb();
    // Lets all cores run.
    CPUWAIT.write(0);
}

/// Starts the second core: its first instruction. Interrupts are masked here and stay masked; the
/// parkers need none to be taken.
extern "C" fn reset() -> ! {
    cortex_m::interrupt::disable();
    // SAFETY: the stack pointer is above this address, and nothing in use is below it.
    unsafe { msplim::write(STACK.lowest() as u32) };
    // SAFETY: no other code uses the core's control block. The unit is enabled before
    // `second_main`, which is not inlined, and this function does not use it.
    unsafe { cortex_m::Peripherals::steal().SCB.enable_fpu() };
    dsb();
    isb();
    crate::second_main()
}

/// Handles all faults of the second core.
extern "C" fn fault() -> ! {
    panic!(
        "fault on the second core: exception {:?}",
        SCB::vect_active()
    );
}

/// The size of the second core's stack. The first core's takes what is left of the memory.
const STACK_SIZE: usize = 64 * 1024;

static STACK: Stack = Stack(UnsafeCell::new(MaybeUninit::uninit()));

/// The second core's stack.
#[repr(align(8))]
struct Stack(UnsafeCell<MaybeUninit<[u8; STACK_SIZE]>>);

// SAFETY: the first core takes only the address; the content belongs to the second core.
unsafe impl Sync for Stack {}

impl Stack {
    /// Returns the lowest address, which the stack should never reach.
    const fn lowest(&self) -> *mut u8 {
        self.0.get().cast()
    }

    /// Returns the address at which the stack begins.
    const fn highest(&self) -> *mut u8 {
        self.lowest().wrapping_add(STACK_SIZE)
    }
}

static VECTOR_TABLE: VectorTable = VectorTable {
    stack: STACK.highest(),
    reset,
    exceptions: [fault; 14],
};

/// A vector table. It has no entries for interrupts, since none is taken. The register for its
/// address requires a multiple of 128.
#[repr(C, align(128))]
struct VectorTable {
    stack: *mut u8,
    reset: extern "C" fn() -> !,
    exceptions: [extern "C" fn() -> !; 14],
}

// SAFETY: the table holds an address and functions, which do not change.
unsafe impl Sync for VectorTable {}
