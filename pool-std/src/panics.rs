//! What becomes of panics that must not go on: the process ends, or they are forgotten; and
//! messages that do not panic.

use std::{
    any::Any,
    io::Write as _,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    process,
};

/// A panic of code of the user.
pub(crate) type Panic = Box<dyn Any + Send>;

/// Drops a value, and what it panics with, which has been reported.
pub(crate) fn drop_quietly<T>(value: T) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(value))) {
        // Its drop could panic again.
        std::mem::forget(panic);
    }
}

/// Calls all closures, and then resumes the first panic.
pub(crate) fn call_all(closures: impl Iterator<Item: FnOnce()>) {
    let mut first = None;
    for closure in closures {
        let result = catch_unwind(AssertUnwindSafe(closure));
        if first.is_none() {
            first = result.err();
        } else {
            drop_quietly(result);
        }
    }
    if let Some(panic) = first {
        resume_unwind(panic);
    }
}

/// Prints a message where errors go. Not by `eprintln!`, which panics if the message cannot be
/// written: that must not fail a build, nor stand in the way of an abort. And not with the lock of
/// the standard library's stream, where there is another way: a thread that hangs may hold it, or
/// one of the process that has forked this one.
pub(crate) fn print_error(message: &str) {
    #[cfg(unix)]
    let mut errors = {
        use std::{
            fs::File,
            mem::ManuallyDrop,
            os::fd::{FromRawFd as _, RawFd},
        };

        const ERRORS: RawFd = 2;
        // SAFETY: the descriptor is the process's for errors. If it is closed, the write fails. It
        // is not closed here.
        ManuallyDrop::new(unsafe { File::from_raw_fd(ERRORS) })
    };
    #[cfg(not(unix))]
    let mut errors = std::io::stderr();
    _ = errors.write_all(message.as_bytes());
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
    print_error(message);
    print_error("\n");
    process::abort();
}
