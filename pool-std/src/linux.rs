//! The system calls of Linux and Android that the pool makes, as safe functions.
//!
//! They go through `libc::syscall` with numbers that every libc of the last years has, so that the
//! requirement in the manifest is met by the `libc` of an old lock file.

use std::{io, ptr, sync::atomic::AtomicU32};

use libc::{c_int, c_long};

/// Sleeps until `word` is woken, if it holds `expected`.
///
/// Returns too early now and then: the word holds something else, or a signal came.
pub(crate) fn futex_wait(word: &AtomicU32, expected: u32) {
    const OPERATION: c_int = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: The kernel reads a word that is borrowed for the whole call. There is no time limit,
    // so it reads nothing else.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            OPERATION,
            expected,
            ptr::null::<libc::timespec>(),
        );
    }
}

/// Wakes one thread that sleeps on `word`.
pub(crate) fn futex_wake_one(word: &AtomicU32) {
    const OPERATION: c_int = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: The kernel takes the address for a name only.
    unsafe {
        libc::syscall(libc::SYS_futex, word.as_ptr(), OPERATION, 1_u32);
    }
}

/// Commands of the system call `membarrier`, from `linux/membarrier.h`.
#[derive(Clone, Copy)]
pub(crate) enum Membarrier {
    PrivateExpedited = 1 << 3,
    RegisterPrivateExpedited = 1 << 4,
}

/// Makes the system call `membarrier`.
///
/// # Errors
/// If the kernel does not have it (`ENOSYS`), a filter forbids it (any error that the filter
/// names), or the process has not registered (`EPERM`).
pub(crate) fn membarrier(command: Membarrier) -> io::Result<()> {
    // SAFETY: The call takes numbers only, and changes nothing that the program can see.
    let result: c_long = unsafe { libc::syscall(libc::SYS_membarrier, command as c_int, 0, 0) };
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
