//! The pipe that wakes a worker which sleeps in its ring.

use std::{
    cell::UnsafeCell,
    io::{self, PipeReader, PipeWriter, Write, pipe},
    mem::ManuallyDrop,
    os::fd::AsRawFd,
    sync::atomic::{AtomicBool, Ordering},
};

/// How many bytes a hint has.
const LENGTH: usize = 8;

/// The pipe that wakes a worker which sleeps in its ring.
///
/// One read of it is in flight at most. It stays in flight while the worker is awake, so a worker that sleeps
/// often submits it only after a hint.
pub(super) struct Hint {
    reader: PipeReader,
    writer: PipeWriter,
    /// Written by the kernel while a read is in flight, and otherwise not used.
    buffer: ManuallyDrop<Box<UnsafeCell<[u8; 64]>>>,
    /// Whether a read is in flight. Changed only by the holder of the ring's lock.
    is_in_flight: AtomicBool,
    is_leaked: bool,
}

// SAFETY: no code of this process accesses the buffer.
unsafe impl Sync for Hint {}
// SAFETY: as above.
unsafe impl Send for Hint {}

impl Hint {
    /// # Errors
    /// If the system refuses the pipe.
    pub(super) fn new() -> io::Result<Self> {
        let (reader, writer) = pipe()?;
        // Only the writer: a ring does not wait for a descriptor that does not block.
        //
        // SAFETY: The call takes numbers only.
        if unsafe { libc::fcntl(writer.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self {
            reader,
            writer,
            buffer: ManuallyDrop::new(Box::new(UnsafeCell::new([0; 64]))),
            is_in_flight: AtomicBool::new(false),
            is_leaked: false,
        })
    }

    pub(super) fn reader(&self) -> &PipeReader {
        &self.reader
    }

    /// Returns where a read puts what it finds: several hints at once, if there are several.
    pub(super) fn buffer(&self) -> (*mut u8, u32) {
        (self.buffer.get().cast(), 64)
    }

    /// Writes a hint. A pipe that is full holds one already.
    pub(super) fn send(&self) {
        let _ = (&self.writer).write(&[0; LENGTH]);
    }

    /// Notes that a read is in flight from now on. Returns false if one is.
    pub(super) fn begin(&self) -> bool {
        // Ordering: Relaxed, for this and all others: the lock of the ring orders them.
        !self.is_in_flight.swap(true, Ordering::Relaxed)
    }

    /// Notes that the read has completed, with a hint or without.
    pub(super) fn has_come(&self) {
        self.is_in_flight.store(false, Ordering::Relaxed);
    }

    pub(super) fn is_in_flight(&self) -> bool {
        self.is_in_flight.load(Ordering::Relaxed)
    }

    /// Keeps the buffer for good.
    pub(super) fn leak(&mut self) {
        self.is_leaked = true;
    }
}

impl Drop for Hint {
    fn drop(&mut self) {
        if !self.is_leaked {
            // SAFETY: this is the only drop of it, and no read is in flight.
            unsafe { ManuallyDrop::drop(&mut self.buffer) };
        }
    }
}
