//! Text and arguments through semihosting: requests to the emulator, or to a debugger.

use core::{ffi::CStr, fmt};

use program::Mode;
use semihosting::{experimental::env, sys::arm_compat::sys_write0};

/// Shows what is formatted into it.
pub struct Console;

impl fmt::Write for Console {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        print(text);
        Ok(())
    }
}

/// Shows a text. Those of several harts may alternate.
///
/// By the request that needs no file handle: it shares nothing with other harts, and works in a
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
pub fn mode() -> Mode {
    // Without arguments of its own, QEMU gives the path of the image as the program's name.
    let arguments = env::args::<1024>().expect("the host refuses to tell the arguments");
    match (&arguments).nth(1).unwrap_or(Ok("")).map(Mode::parse) {
        Ok(Ok(mode)) => mode,
        other => panic!("no such mode: {other:?}"),
    }
}
