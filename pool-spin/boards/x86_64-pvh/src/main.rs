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

use program::{Board as _, Pool};

/// The number of cores that take part.
const CORES: usize = 4;

static POOL: Pool<Q35, CORES> = Pool::new();

/// Every core comes here once, from the assembly: with a stack of its own, interrupts masked,
/// memory at its physical addresses, and a number below [`CORES`], 0 for the boot core. That has
/// also been given the address of the loader's start information.
extern "sysv64" fn core_main(start_info: u32, number: u32) -> ! {
    if number == 0 {
        // First, before anything is written to memory that the loader may have used.
        // SAFETY: 1. by the assembly; 2. only stacks and statics were written, the program's own.
        Q35::set_mode(unsafe { boot::command_line(start_info) });
        interrupts::mask_pics();
        clock::init();
    }
    interrupts::init();
    // SAFETY: 1. numbers differ; 2. nothing before uses it.
    unsafe { core_local::init(number as usize) };
    if number == 0 {
        timer::init();
        // SAFETY: 1. conventional memory, which the firmware left to us; 2. it left them halted.
        unsafe { boot::start_others() };
        x86_64::instructions::interrupts::enable();
        program::boot_core(&POOL)
    } else {
        program::other_core(&POOL, number as usize)
    }
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    // The console never fails.
    let _ = writeln!(Console, "{info}");
    Q35::exit(false)
}
