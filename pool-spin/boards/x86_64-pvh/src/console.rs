//! The serial port.

use core::fmt;

use pool_spin::{Interrupts as _, arch::X86_64};
use spin::{LazyLock, Mutex};
use uart_16550::{BaudRate, Config, Uart16550, backend::PioBackend};

/// The first port of COM1.
const COM1: u16 = 0x3f8;

static PORT: LazyLock<Mutex<Uart16550<PioBackend>>> = LazyLock::new(|| {
    // SAFETY: every PC has the port there, and no other code uses it.
    let mut port = unsafe { Uart16550::new_port(COM1) }.expect("a valid port");
    let config = Config {
        baud_rate: BaudRate::Baud115200,
        ..Config::DEFAULT
    };
    // Without a port, the program runs all the same.
    let _ = port.init(config);
    Mutex::new(port)
});

/// Prints a text, not mixed with texts of other cores. Handlers may call this, and so may the panic
/// handler.
pub fn print(text: &str) {
    // Otherwise a handler of this core could wait for the lock forever.
    let interrupts = X86_64::mask();
    PORT.lock().send_bytes_exact(text.as_bytes());
    X86_64::restore(interrupts);
}

/// The serial port, for formatted text.
#[derive(Debug)]
pub struct Console;

impl fmt::Write for Console {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        print(text);
        Ok(())
    }
}
