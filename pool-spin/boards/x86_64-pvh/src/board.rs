//! The board, as the pool and the program see it.

use core::time::Duration;

use pool_spin::{HltIpi, Machine};
use program::{Board, Lossy, Mode};
use qemu_exit::QEMUExit as _;
use spin::Once;

use crate::{clock, console, core_local::GsLocal, ipi::ApicIpi, timer};

/// A PC with Intel's Q35 chip set, as QEMU imitates it.
#[derive(Debug)]
pub struct Q35(());

// SAFETY: 1. `core_local::init` sets the pointer to null, and nothing else uses it. 2. Only
// handlers pre-empt a core, and they call only what the pool allows them.
unsafe impl Machine for Q35 {
    type Local = GsLocal;
    type Parker = HltIpi<Lossy<ApicIpi>>;

    /// Not the time-stamp counter: see [`clock`].
    fn nanoseconds() -> Option<u64> {
        u64::try_from(clock::try_now()?.as_nanos()).ok()
    }
}

/// The port of the device that ends QEMU.
const EXIT_PORT: u16 = 0xf4;
/// QEMU's exit status for success. It is odd. It is not 1, which is failure, and not 0, which a
/// machine that resets itself leaves.
const PASSED: u32 = 33;

static MODE: Once<Mode> = Once::new();

impl Q35 {
    /// Keeps the mode that the loader's command line asks for.
    ///
    /// # Panics
    /// If the mode is unknown.
    pub fn set_mode(command_line: &str) {
        MODE.call_once(|| Mode::parse(command_line).expect("a mode"));
    }
}

impl Board for Q35 {
    type Interrupts = pool_spin::arch::X86_64;

    const NAME: &'static str = "x86_64-pvh";

    fn print(text: &str) {
        console::print(text);
    }

    fn mode() -> Mode {
        *MODE.get().expect("the boot core has read the command line")
    }

    fn now() -> Duration {
        clock::now()
    }

    fn interrupt_after(delay: Duration) {
        timer::interrupt_after(delay);
    }

    fn exit(passed: bool) -> ! {
        // SAFETY: the port is that of QEMU's isa-debug-exit device; see the runner's options.
        let qemu = unsafe { qemu_exit::X86::new(EXIT_PORT, PASSED) };
        if passed {
            qemu.exit_success()
        } else {
            qemu.exit_failure()
        }
    }
}
