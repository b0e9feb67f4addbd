//! What happens to a panic, and to an exception.

use core::panic::PanicInfo;

use riscv::register::{scause, sepc};
use riscv_rt::TrapFrame;

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    semihosted::panic(info)
}

/// A fault is a panic, rather than the silent loop that `riscv-rt` has for it.
// SAFETY: it is the name, and this the signature, that `riscv-rt` calls; nobody else defines it.
#[unsafe(export_name = "ExceptionHandler")]
extern "C" fn exception(_frame: &TrapFrame) -> ! {
    panic!("exception {} at {:#x}", scause::read().code(), sepc::read())
}
