//! The trait that connects the program to a board.

use core::time::Duration;

use pool_spin::{Interrupts, Machine};

use crate::mode::Mode;

/// A board that runs the program.
pub trait Board: Machine {
    /// The interrupts of a core, for locks that handlers take.
    type Interrupts: Interrupts;

    /// The name of the board.
    const NAME: &'static str;

    /// Prints a piece of text to the console.
    fn print(text: &str);

    /// Returns the mode of the program.
    fn mode() -> Mode;

    /// Returns the time since some moment before the program began, on a clock that all cores
    /// share.
    fn now() -> Duration;

    /// Makes a timer interrupt the calling core, once, after this time. Interrupts are enabled on
    /// the core that boots; the handler calls `program::timer_interrupt`.
    fn interrupt_after(delay: Duration);

    /// Ends the machine, and reports whether the program passed.
    fn exit(passed: bool) -> !;
}
