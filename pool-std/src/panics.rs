//! What becomes of panics that must not go on: the process ends, or they are forgotten.

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
