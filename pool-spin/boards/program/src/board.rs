//! What the program needs of a board.

use core::time::Duration;

use pool_spin::Machine;

use crate::mode::Mode;

/// A board that runs the program.
pub trait Board: Machine {
    /// How the board is called.
    const NAME: &'static str;

    /// Shows a piece of text to whoever runs the program.
    fn print(text: &str);

    /// What the program is to do.
    fn mode() -> Mode;

    /// The time since some moment before the program, on a clock that all cores share.
    fn now() -> Duration;

    /// Has a timer interrupt the core that calls, once, after this time. Interrupts are enabled on
    /// the core that boots; the handler calls `program::timer_interrupt`.
    fn interrupt_after(delay: Duration);

    /// Ends the machine, and tells whoever runs it whether the program passed.
    fn exit(passed: bool) -> !;
}
