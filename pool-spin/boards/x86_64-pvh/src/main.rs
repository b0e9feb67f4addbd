//! A PC with four cores, booted by QEMU through PVH.
#![no_std]
#![no_main]

mod board;
mod boot;
mod clock;
mod console;
mod core_local;
mod interrupts;
mod ipi;
mod local_apic;
mod timer;

use core::{fmt::Write as _, panic::PanicInfo};

use board::Q35;
use console::Console;

use program::{Blocking, Board as _, DetectingPool, Pool};

/// The number of cores that take part.
const CORES: usize = 4;

static POOL: Pool<Q35, CORES> = program::pool();
/// The pool that detects deadlocks, and its tests.
static DETECTING: DetectingPool<Q35, CORES> = program::detecting_pool();
static BLOCKING: Blocking<Q35, CORES> = Blocking::new(&DETECTING);

/// Runs on every core, once, called by the assembly. The core has a stack of its own, interrupts
/// masked, memory at its physical addresses, and a number below [`CORES`].
///
/// The boot core has number 0, and also the address of the loader's start information.
extern "sysv64" fn core_main(start_info: u32, number: u32) -> ! {
    if number == 0 {
        // Comes first, before anything is written to memory that the loader may have used.
        // SAFETY: 1. The assembly passes it. 2. Only the program's stacks and statics were written.
        Q35::set_mode(unsafe { boot::command_line(start_info) });
        interrupts::mask_pics();
        clock::init();
    }
    interrupts::init();
    // SAFETY: 1. The numbers differ. 2. Nothing above uses the module.
    unsafe { core_local::init(number as usize) };
    if number == 0 {
        timer::init();
        // SAFETY: 1. The page is conventional memory, which the firmware has left to us. 2. It has
        // left the cores halted.
        unsafe { boot::start_others() };
        x86_64::instructions::interrupts::enable();
        program::boot_core(&POOL, &BLOCKING)
    } else {
        program::other_core(&POOL, &BLOCKING, number as usize)
    }
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    // The console never fails.
    let _ = writeln!(Console, "{info}");
    Q35::exit(false)
}
