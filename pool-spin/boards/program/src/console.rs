//! Formatted text for a board's console.

use core::{fmt, marker::PhantomData};

use crate::board::Board;

/// A writer to a board's console: for `write!`, in panic handlers too.
pub struct Console<B>(PhantomData<fn() -> B>);

impl<B: Board> Console<B> {
    /// Creates a writer to the board's console.
    #[must_use]
    pub fn new() -> Self {
        Self(PhantomData)
    }

    /// Prints one line.
    pub(crate) fn line(text: fmt::Arguments<'_>) {
        use fmt::Write;
        // A console that fails cannot report it.
        let _ = writeln!(Self::new(), "{text}");
    }
}

impl<B: Board> Default for Console<B> {
    fn default() -> Self {
        Self::new()
    }
}

impl<B: Board> fmt::Write for Console<B> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        B::print(text);
        Ok(())
    }
}

impl<B> fmt::Debug for Console<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Console")
    }
}
