//! Text, arguments and the end of a program through semihosting: requests to the emulator or to a
//! debugger. Without either, a request is a fault, so a board on real hardware brings its own.
#![no_std]

use core::{
    ffi::CStr,
    fmt::{self, Write as _},
    panic::PanicInfo,
    sync::atomic::{AtomicBool, Ordering},
};

use program::Mode;
use semihosting::{experimental::env, process, sys::arm_compat::sys_write0};

/// A writer that prints what is formatted into it.
#[derive(Debug)]
pub struct Console;

impl fmt::Write for Console {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        print(text);
        Ok(())
    }
}

/// Prints a text. Texts of several cores may alternate.
///
/// Uses the request that needs no file handle: it shares nothing with other cores, and works in a
/// panic.
pub fn print(text: &str) {
    const PIECE: usize = 128;

    for piece in text.as_bytes().chunks(PIECE) {
        let mut terminated = [0; PIECE + 1];
        terminated[..piece.len()].copy_from_slice(piece);
        if let Ok(piece) = CStr::from_bytes_until_nul(&terminated) {
            sys_write0(piece);
        }
    }
}

/// Returns the mode that the argument after the program's name asks for.
///
/// # Panics
/// If there is no such mode, or if the arguments have more than 512 bytes.
pub fn mode() -> Mode {
    // Without arguments of its own, QEMU gives the path of the image as the program's name.
    let arguments = env::args::<512>().expect("the host tells the arguments");
    match (&arguments).nth(1).unwrap_or(Ok("")).map(Mode::parse) {
        Ok(Ok(mode)) => mode,
        other => panic!("no such mode: {other:?}"),
    }
}

/// Ends the machine, and reports whether the program passed.
pub fn exit(passed: bool) -> ! {
    process::exit(i32::from(!passed))
}

/// Prints the first panic and ends the machine: for a board's panic handler. Cores that panic
/// meanwhile, or because printing fails, stop.
pub fn panic(info: &PanicInfo<'_>) -> ! {
    static HAS_PANICKED: AtomicBool = AtomicBool::new(false);

    // Ordering: Relaxed; the flag publishes nothing. If two cores are first at the same time, both
    // panics are printed. Every board has loads and stores, not all have exchanges.
    if !HAS_PANICKED.load(Ordering::Relaxed) {
        HAS_PANICKED.store(true, Ordering::Relaxed);
        let _ = writeln!(Console, "{info}");
        exit(false);
    }
    loop {
        core::hint::spin_loop();
    }
}
