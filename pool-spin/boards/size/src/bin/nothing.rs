//! Does nothing.
#![no_std]
#![no_main]

use size as _;

/// Runs the program: the linker begins here.
#[unsafe(no_mangle)]
pub extern "C" fn _start() -> ! {
    loop {
        core::hint::spin_loop();
    }
}
