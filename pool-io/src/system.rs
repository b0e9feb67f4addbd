//! The system calls that are no operations, as safe functions, and locks.

use std::{
    io, mem,
    os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// Locks a mutex of this crate, which a panic never leaves half-changed.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the error number of the last system call of this thread.
pub(super) fn last_error() -> i32 {
    io::Error::last_os_error()
        .raw_os_error()
        .unwrap_or(libc::EIO)
}

/// Whether reads and writes of a descriptor may wait for another process or a device.
pub(super) fn is_stream(descriptor: BorrowedFd<'_>) -> io::Result<bool> {
    let kind = status(descriptor)?.st_mode & libc::S_IFMT;
    Ok(![libc::S_IFREG, libc::S_IFBLK, libc::S_IFDIR].contains(&kind))
}

/// Returns the length of a file, or `None` if the descriptor is of something else.
pub(super) fn length(descriptor: BorrowedFd<'_>) -> Option<u64> {
    let status = status(descriptor).ok()?;
    let is_file = status.st_mode & libc::S_IFMT == libc::S_IFREG;
    u64::try_from(status.st_size).ok().filter(|_| is_file)
}

fn status(descriptor: BorrowedFd<'_>) -> io::Result<libc::stat> {
    // SAFETY: zeros are a valid value of a structure of numbers, which the call overwrites.
    let (result, status) = unsafe {
        let mut status: libc::stat = mem::zeroed();
        let result = libc::fstat(descriptor.as_raw_fd(), &raw mut status);
        (result, status)
    };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(status)
}

/// Returns the flags with which a descriptor was opened, and those that were set since.
pub(super) fn flags(descriptor: BorrowedFd<'_>) -> Option<libc::c_int> {
    // SAFETY: the call takes numbers only.
    let flags = unsafe { libc::fcntl(descriptor.as_raw_fd(), libc::F_GETFL) };
    (flags >= 0).then_some(flags)
}

/// Lets reads and writes of a pipe return an error instead of waiting.
///
/// # Errors
/// Those of the system, which has none for a pipe.
pub(super) fn set_nonblocking(pipe: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: the call takes numbers only.
    if unsafe { libc::fcntl(pipe.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Lets reads and writes of a descriptor wait, if its `open` was not to. Returns whether the system
/// has done that.
pub(super) fn let_wait(descriptor: BorrowedFd<'_>) -> bool {
    let descriptor = descriptor.as_raw_fd();
    // SAFETY: the calls take numbers only.
    unsafe {
        let flags = libc::fcntl(descriptor, libc::F_GETFL);
        flags >= 0
            && (flags & libc::O_NONBLOCK == 0
                || libc::fcntl(descriptor, libc::F_SETFL, flags & !libc::O_NONBLOCK) == 0)
    }
}

/// A counter in the kernel that one thread waits for and others increase.
pub(super) struct EventCounter(OwnedFd);

impl EventCounter {
    pub(super) fn new() -> io::Result<Self> {
        // SAFETY: The call takes numbers only.
        let descriptor = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC) };
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the call has just made it for us.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(descriptor) }))
    }

    /// Increases the counter. Does not block, for it does not come near its maximum.
    pub(super) fn increase(&self) {
        let one = 1_u64.to_ne_bytes();
        // SAFETY: the buffer is borrowed for the whole call, and the length is its own.
        unsafe { libc::write(self.0.as_raw_fd(), one.as_ptr().cast(), one.len()) };
    }

    pub(super) fn raw(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    /// Waits until the counter is above zero, for this number of milliseconds at most, and resets
    /// it. Returns whether it was above zero.
    pub(super) fn wait_and_reset_within(&self, milliseconds: libc::c_int) -> bool {
        let mut counter = [libc::pollfd {
            fd: self.raw(),
            events: libc::POLLIN,
            revents: 0,
        }];
        // An error is an early return.
        let _ = poll_once(&mut counter, milliseconds);
        let is_above_zero = counter[0].revents != 0;
        if is_above_zero {
            self.wait_and_reset();
        }
        is_above_zero
    }

    /// Waits until the counter is above zero, and resets it. May return early.
    pub(super) fn wait_and_reset(&self) {
        let mut count = [0; 8];
        // SAFETY: as for `increase`.
        unsafe { libc::read(self.0.as_raw_fd(), count.as_mut_ptr().cast(), count.len()) };
    }
}

/// For how many milliseconds each part of the descriptors is polled if they are too many for one
/// call.
const POLL_PART: libc::c_int = 1;

/// Waits until at least one of the descriptors is ready, for this number of milliseconds at most,
/// or without a limit if the number is negative. May return early.
///
/// The system polls at most as many at once as the process may open (`RLIMIT_NOFILE`). If there are
/// more, they are polled in parts, each for a moment.
pub(super) fn poll(descriptors: &mut [libc::pollfd], milliseconds: libc::c_int) {
    if poll_once(descriptors, milliseconds) != Err(libc::EINVAL) {
        return;
    }
    let limit = open_files_limit();
    if limit == 0 {
        // None can be polled: each is tried.
        std::thread::sleep(Duration::from_millis(1));
        for descriptor in descriptors {
            descriptor.revents = descriptor.events;
        }
        return;
    }
    for part in descriptors.chunks_mut(limit) {
        // The limit may be lowered meanwhile; then the next call sees the new one.
        let _ = poll_once(part, POLL_PART);
    }
}

/// Returns how many files the process may open, or 0 if the system does not say.
fn open_files_limit() -> usize {
    // SAFETY: zeros are a valid value of a structure of numbers, which the call overwrites.
    let (result, limit) = unsafe {
        let mut limit: libc::rlimit = mem::zeroed();
        let result = libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit);
        (result, limit)
    };
    if result == 0 {
        usize::try_from(limit.rlim_cur).unwrap_or(usize::MAX)
    } else {
        0
    }
}

pub(super) fn poll_once(
    descriptors: &mut [libc::pollfd],
    milliseconds: libc::c_int,
) -> Result<(), i32> {
    let count = descriptors.len() as libc::nfds_t;
    // SAFETY: the slice is borrowed for the whole call, and the length is its own.
    let result = unsafe { libc::poll(descriptors.as_mut_ptr(), count, milliseconds) };
    if result >= 0 {
        return Ok(());
    }
    let error = last_error();
    // Interrupted, out of kernel memory, or too many: what is in the slice means nothing.
    for descriptor in descriptors {
        descriptor.revents = 0;
    }
    std::thread::yield_now();
    Err(error)
}
