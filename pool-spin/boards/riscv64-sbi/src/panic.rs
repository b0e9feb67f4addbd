//! What happens to a panic, and to an exception.

use core::{
    fmt::Write as _,
    sync::atomic::{AtomicBool, Ordering},
};

use program::Board as _;
use riscv::register::{scause, sepc};
use riscv_rt::TrapFrame;

use crate::{board::Sbi, console::Console};

/// Shows the first panic and ends the machine. Harts that panic meanwhile, or because showing
/// fails, halt.
#[panic_handler]
fn panic(info: &core::panic::PanicInfo) -> ! {
    static PANICKED: AtomicBool = AtomicBool::new(false);

    // Ordering: Relaxed, it only picks one hart; nothing is handed over.
    if !PANICKED.swap(true, Ordering::Relaxed) {
        let _ = writeln!(Console, "{info}");
        Sbi::exit(false);
    }
    loop {
        riscv::asm::wfi();
    }
}

/// A fault is a panic, rather than the silent loop that `riscv-rt` has for it.
// SAFETY: it is the name, and this the signature, that `riscv-rt` calls; nobody else defines it.
#[unsafe(export_name = "ExceptionHandler")]
extern "C" fn exception(_frame: &TrapFrame) -> ! {
    panic!("exception {} at {:#x}", scause::read().code(), sepc::read())
}
