//! Starting the second core: with a vector table, since a Cortex-M takes its first stack pointer
//! and instruction from there.

use core::{cell::UnsafeCell, mem::MaybeUninit};

use cortex_m::{
    asm::{dsb, isb},
    peripheral::SCB,
    register::msplim,
};

use crate::registers::{Device, Register};

/// Lets the second core run [`second_main`](crate::second_main). Called once, by the first.
pub fn start() {
    // SAFETY: 1. they are there. Two are used, which touch no memory but through the core that they
    // start, and that is given a good vector table.
    const SYSTEM_CONTROL: Device = unsafe { Device::at(0x5002_1000) };
    const INITSVTOR1: Register = SYSTEM_CONTROL.register(0x114);
    const CPUWAIT: Register = SYSTEM_CONTROL.register(0x118);

    let table = (&raw const VECTOR_TABLE).addr();
    INITSVTOR1.write(u32::try_from(table).expect("an address has 32 bits"));
    // All that this core wrote, and the address of the table, is there before the other starts.
    dsb();
    // No core waits any longer.
    CPUWAIT.write(0);
}

/// The first instruction of the second core. Interrupts are masked here and stay so: the parkers
/// need none to be taken.
extern "C" fn reset() -> ! {
    cortex_m::interrupt::disable();
    // SAFETY: the stack pointer is above, and nothing that is in use is below.
    unsafe { msplim::write(STACK.lowest() as u32) };
    // SAFETY: nobody else uses the core's control block. The unit is enabled before
    // `second_main`, which is not inlined, and this function does without.
    unsafe { cortex_m::Peripherals::steal().SCB.enable_fpu() };
    dsb();
    isb();
    crate::second_main()
}

/// Where all of the second core's faults end up.
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

// SAFETY: only addresses of the content are taken; it is the second core's.
unsafe impl Sync for Stack {}

impl Stack {
    /// The end that is never reached.
    const fn lowest(&self) -> *mut u8 {
        self.0.get().cast()
    }

    /// Where the stack begins.
    const fn highest(&self) -> *mut u8 {
        self.lowest().wrapping_add(STACK_SIZE)
    }
}

static VECTOR_TABLE: VectorTable = VectorTable {
    stack: STACK.highest(),
    reset,
    exceptions: [fault; 14],
};

/// What a core looks for at the address of its vector table. There are no entries for interrupts:
/// none is taken. The table lies as the register for its address can say: at a multiple of 128.
#[repr(C, align(128))]
struct VectorTable {
    stack: *mut u8,
    reset: extern "C" fn() -> !,
    exceptions: [extern "C" fn() -> !; 14],
}

// SAFETY: an address and functions, which do not change.
unsafe impl Sync for VectorTable {}
