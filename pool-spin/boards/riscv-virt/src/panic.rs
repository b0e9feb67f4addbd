//! The handlers of panics and of exceptions.

use core::panic::PanicInfo;

use riscv::register::{mcause, mepc};
use riscv_rt::TrapFrame;

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    semihosted::panic(info)
}

/// Panics at a fault: `riscv-rt` would loop silently.
// SAFETY: `riscv-rt` calls this name with this signature, and no other code defines it.
#[unsafe(export_name = "ExceptionHandler")]
extern "C" fn exception(_frame: &TrapFrame) -> ! {
    panic!("exception {} at {:#x}", mcause::read().code(), mepc::read())
}
