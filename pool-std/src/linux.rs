//! The system calls of Linux and Android that the pool makes, as safe functions.
//!
//! They go through `libc::syscall` with numbers that every libc of the last years has, so that the
//! requirement in the manifest is met by the `libc` of an old lock file.

use std::{io, ptr, sync::atomic::AtomicU32, time::Duration};

use libc::{c_int, c_long};

/// Whether [`futex_wait`] heeds its limit. On 32-bit targets the layout of a duration depends on the
/// kernel's age, and on the C library's.
pub(crate) const FUTEX_HAS_LIMIT: bool = cfg!(target_pointer_width = "64");

/// What the kernel takes for a duration in a futex call, on a 64-bit target.
#[repr(C)]
struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}

/// Sleeps until `word` is woken, if it holds `expected`, and for no longer than `limit`, where
/// [that counts](FUTEX_HAS_LIMIT).
///
/// Returns too early now and then: the word holds something else, or a signal came.
pub(crate) fn futex_wait(word: &AtomicU32, expected: u32, limit: Option<Duration>) {
    const OPERATION: c_int = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
    let limit = limit.filter(|_| FUTEX_HAS_LIMIT).map(|limit| Timespec {
        seconds: limit.as_secs().cast_signed(),
        nanoseconds: i64::from(limit.subsec_nanos()),
    });
    let limit = limit.as_ref().map_or(ptr::null(), ptr::from_ref);
    // SAFETY: The kernel reads a word that is borrowed for the whole call, and a duration that lives
    // as long, in the kernel's own layout, or none.
    unsafe {
        libc::syscall(libc::SYS_futex, word.as_ptr(), OPERATION, expected, limit);
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
