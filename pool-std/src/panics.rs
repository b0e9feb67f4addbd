//! What becomes of panics that must not go on: the process ends, or they are forgotten; and
//! messages that do not panic.

use std::{
    io::{self, Write},
    panic::{AssertUnwindSafe, catch_unwind},
    process,
};

/// Drops a value, and what it panics with, which has been reported.
pub(crate) fn drop_quietly<T>(value: T) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(value))) {
        // Its drop could panic again.
        std::mem::forget(panic);
    }
}

/// Tells the user of what the pool does without. Not by `eprintln!`, which panics if the message
/// cannot be written: that must not fail a build, nor abort a program that ends.
#[cfg(any(
    feature = "live",
    all(unix, feature = "signal"),
    all(unix, feature = "trace", not(miri))
))]
pub(crate) fn say(message: std::fmt::Arguments<'_>) {
    let _ = writeln!(io::stderr(), "pool-std: {message}");
}

/// Ends the process with a message if it is dropped, as only an unwinding panic drops it.
pub(crate) struct AbortOnUnwind(pub(crate) &'static str);

impl Drop for AbortOnUnwind {
    fn drop(&mut self) {
        abort_with(self.0);
    }
}

/// Ends the process with a message.
pub(crate) fn abort_with(message: &str) -> ! {
    // A message that cannot be written must not stand in the way of the abort.
    let _ = writeln!(io::stderr(), "{message}");
    process::abort();
}
