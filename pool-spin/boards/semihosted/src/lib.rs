//! Text, arguments and the end of a program through semihosting: requests to the emulator, or to a
//! debugger. Without either, a request is a fault: on real hardware, a board brings its own.
#![no_std]

use core::{
    ffi::CStr,
    fmt::{self, Write as _},
    panic::PanicInfo,
    sync::atomic::{AtomicBool, Ordering},
};

use program::Mode;
use semihosting::{experimental::env, process, sys::arm_compat::sys_write0};

/// Shows what is formatted into it.
#[derive(Debug)]
pub struct Console;

impl fmt::Write for Console {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        print(text);
        Ok(())
    }
}

/// Shows a text. Those of several cores may alternate.
///
/// By the request that needs no file handle: it shares nothing with other cores, and works in a
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

/// What the argument behind the program's name says.
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

/// Ends the machine, and tells whether the program passed.
pub fn exit(passed: bool) -> ! {
    process::exit(i32::from(!passed))
}

/// For a board's panic handler: shows the first panic and ends the machine. Cores that panic
/// meanwhile, or because showing fails, stop.
pub fn panic(info: &PanicInfo<'_>) -> ! {
    static HAS_PANICKED: AtomicBool = AtomicBool::new(false);

    // Ordering: Relaxed, nothing is handed over; if two cores are the first, both are shown. Loads
    // and stores are what every board has.
    if !HAS_PANICKED.load(Ordering::Relaxed) {
        HAS_PANICKED.store(true, Ordering::Relaxed);
        let _ = writeln!(Console, "{info}");
        exit(false);
    }
    loop {
        core::hint::spin_loop();
    }
}
