//! The pipe that wakes a worker which sleeps in its ring.

use std::{
    cell::UnsafeCell,
    io::{self, PipeReader, PipeWriter, Write, pipe},
    mem::ManuallyDrop,
    os::fd::AsRawFd,
    sync::Mutex,
    thread::{self, ThreadId},
};

use crate::thread_pool::data::lock;

/// How many bytes a hint has.
const LENGTH: usize = 8;

/// The pipe that wakes a worker which sleeps in its ring.
///
/// A read of it stays in flight while the worker is awake, so a worker that sleeps often submits one only after a
/// hint. The kernel completes a read on the thread that has submitted it, which may be busy in a system call
/// that no signal ends. So a thread that takes the worker's place submits a read of its own.
pub(super) struct Hint {
    reader: PipeReader,
    writer: PipeWriter,
    /// Written by the kernel while reads are in flight, perhaps by two at a time, and otherwise not used.
    buffer: ManuallyDrop<Box<UnsafeCell<[u8; 64]>>>,
    /// Locked by the holder of the ring's lock alone, so without a wait.
    reads: Mutex<Reads>,
    is_leaked: bool,
}

/// The reads of the pipe that are in flight.
#[derive(Default)]
struct Reads {
    in_flight: usize,
    /// The number of the newest one; the first has the number 1.
    newest: u64,
    /// The thread that has submitted the newest one, if that is in flight.
    thread: Option<ThreadId>,
}

/// A read that is to be submitted.
pub(super) struct NewRead {
    pub(super) number: u64,
    /// The number of an earlier one, which is to be cancelled: another thread has submitted it.
    pub(super) replaces: Option<u64>,
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
            reads: Mutex::default(),
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

    /// Notes that a read of this thread is in flight from now on. Returns `None` if one is.
    pub(super) fn begin(&self) -> Option<NewRead> {
        let mut reads = lock(&self.reads);
        let this_thread = thread::current().id();
        if reads.thread == Some(this_thread) {
            return None;
        }
        let replaces = reads.thread.map(|_| reads.newest);
        reads.in_flight += 1;
        reads.newest += 1;
        reads.thread = Some(this_thread);
        Some(NewRead {
            number: reads.newest,
            replaces,
        })
    }

    /// Notes that a read has completed, with a hint or without.
    pub(super) fn has_come(&self, number: u64) {
        let mut reads = lock(&self.reads);
        reads.in_flight -= 1;
        if number == reads.newest {
            reads.thread = None;
        }
    }

    pub(super) fn is_in_flight(&self) -> bool {
        lock(&self.reads).in_flight > 0
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
