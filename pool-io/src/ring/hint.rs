//! The pipe that wakes a worker which sleeps in its ring, and says where the work is.

use std::{
    io::{self, PipeReader, PipeWriter, Read as _, Write as _, pipe},
    mem::ManuallyDrop,
    os::fd::{AsFd as _, AsRawFd as _},
    sync::{
        Mutex,
        atomic::{AtomicU32, AtomicUsize, Ordering},
    },
    thread::{self, ThreadId},
};

use pool_std::driver::{ChannelFull, Hint, Process};

use crate::system::{lock, poll_once, set_nonblocking};

#[cfg(all(test, target_pointer_width = "64", not(miri)))]
mod tests;

/// The number of bytes of a hint.
const LENGTH: usize = size_of::<u32>();

/// The maximum number of hints that one read takes.
const HINTS: usize = 16;

/// The pipe that wakes a worker which sleeps in its ring, and carries a [`Hint`].
///
/// A read of the pipe stays in flight while the worker is awake, so a worker that sleeps often
/// submits a new read only after a hint. The kernel completes a read on the thread that has
/// submitted it, which may be busy in a system call that no signal ends. So a thread that takes
/// over the worker submits a read of its own.
pub(crate) struct HintPipe {
    reader: PipeReader,
    writer: PipeWriter,
    /// Written by the kernel while reads are in flight, perhaps by two reads at a time. A hint that
    /// is outdated or overwritten costs one fruitless look.
    buffer: ManuallyDrop<Box<[AtomicU32; HINTS]>>,
    /// The newest hint that was read and that carries information, or 0.
    newest: AtomicU32,
    /// The number of hints that were sent, or are being sent, and have not been read.
    unread: AtomicUsize,
    /// Locked only by the holder of the ring's lock, so locking it never waits.
    reads: Mutex<Reads>,
    is_leaked: bool,
    process: Process,
}

/// The reads of the pipe that are in flight.
#[derive(Default)]
struct Reads {
    in_flight: usize,
    /// The number of the newest read. The first read has the number 1.
    newest: u64,
    /// The thread that has submitted the newest read, if that read is in flight.
    thread: Option<ThreadId>,
}

/// A read that has to be submitted.
pub(super) struct NewRead {
    pub(super) number: u64,
    /// The number of an earlier read to cancel, because another thread has submitted it.
    pub(super) replaces: Option<u64>,
}

impl HintPipe {
    /// # Errors
    /// If the system refuses the pipe.
    pub(super) fn new() -> io::Result<Self> {
        let (reader, writer) = pipe()?;
        // Only the writer is nonblocking: a ring does not wait for a nonblocking descriptor.
        set_nonblocking(writer.as_fd())?;
        Ok(Self {
            reader,
            writer,
            buffer: ManuallyDrop::new(Box::default()),
            newest: AtomicU32::new(0),
            unread: AtomicUsize::new(0),
            reads: Mutex::default(),
            is_leaked: false,
            process: Process::current(),
        })
    }

    pub(super) fn reader(&self) -> &PipeReader {
        &self.reader
    }

    /// Returns where a read stores hints: all that are in the pipe, up to [`HINTS`].
    pub(super) fn buffer(&self) -> (*mut u8, u32) {
        // `HINTS` words, which fits. The cells allow writes through a shared reference.
        (
            self.buffer.as_ptr().cast_mut().cast(),
            (HINTS * LENGTH) as u32,
        )
    }

    /// Writes a hint. Never blocks. Does nothing in a child of the process, whose parent reads the
    /// pipe.
    ///
    /// # Errors
    /// If the pipe is full. Then it holds hints that end the read.
    pub(super) fn send(&self, hint: Hint) -> Result<(), ChannelFull> {
        if self.process != Process::current() {
            return Ok(());
        }
        // Ordering: Relaxed; a count that is too low or too high costs a hint or a look.
        self.unread.fetch_add(1, Ordering::Relaxed);
        // The system writes this few bytes completely or not at all.
        let written = (&self.writer).write(&hint.to_raw().to_ne_bytes());
        if written.is_err() {
            // Ordering: Relaxed, as above.
            self.unread.fetch_sub(1, Ordering::Relaxed);
        }
        written.map(drop).map_err(|_| ChannelFull)
    }

    /// Takes the newest hint that was read.
    pub(super) fn take(&self) -> Option<Hint> {
        // Ordering: Relaxed: only the number itself is received.
        Hint::from_raw(self.newest.swap(0, Ordering::Relaxed))
    }

    /// Whether the pipe holds hints.
    pub(super) fn is_unread(&self) -> bool {
        // Ordering: Relaxed, see `send`.
        self.unread.load(Ordering::Relaxed) > 0
    }

    /// Records that a read of this thread is in flight from now on. Returns `None` if one already
    /// is.
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

    /// Records that a read has completed, with this number of bytes of hints or with an error.
    pub(super) fn has_come(&self, number: u64, bytes: i32) {
        let hints = usize::try_from(bytes).map_or(0, |bytes| bytes / LENGTH);
        // Ordering: Relaxed, see `send`. The kernel has written the hints before the completion.
        self.unread.fetch_sub(hints, Ordering::Relaxed);
        let hints = self.buffer[..hints.min(HINTS)].iter();
        // Ordering: Relaxed, as above.
        self.keep_newest(hints.map(|hint| hint.load(Ordering::Relaxed)));
        let mut reads = lock(&self.reads);
        reads.in_flight -= 1;
        if number == reads.newest {
            reads.thread = None;
        }
    }

    /// Waits, without a ring, until the pipe contains hints, but at most for this number of
    /// milliseconds, and takes the hints out. The ring must not submit another read of the pipe.
    pub(super) fn wait_without_ring(&self, milliseconds: libc::c_int) {
        let descriptor = self.reader.as_raw_fd();
        let mut pipe = [libc::pollfd {
            fd: descriptor,
            events: libc::POLLIN,
            revents: 0,
        }];
        // An error is an early return.
        let _ = poll_once(&mut pipe, milliseconds);
        let mut buffer = [0; HINTS * LENGTH];
        // A read that the kernel has in flight may be faster, so this one must not wait. Before
        // Linux 6.4, only the flag of the descriptor prevents that for a pipe.
        let is_nonblocking = set_nonblocking(self.reader.as_fd());
        let read = is_nonblocking.and_then(|()| (&self.reader).read(&mut buffer));
        let Ok(bytes) = read else {
            // No hint has arrived.
            thread::yield_now();
            return;
        };
        let (hints, _rest) = buffer[..bytes].as_chunks::<LENGTH>();
        // Ordering: Relaxed, see `send`.
        self.unread.fetch_sub(hints.len(), Ordering::Relaxed);
        self.keep_newest(hints.iter().map(|&hint| u32::from_ne_bytes(hint)));
    }

    /// Keeps the newest of these hints that carries information.
    fn keep_newest(&self, hints: impl DoubleEndedIterator<Item = u32>) {
        let mut hints = hints.filter_map(Hint::from_raw);
        if let Some(hint) = hints.rfind(|&hint| hint != Hint::Unknown) {
            // Ordering: Relaxed, see `take`.
            self.newest.store(hint.to_raw(), Ordering::Relaxed);
        }
    }

    pub(super) fn is_in_flight(&self) -> bool {
        lock(&self.reads).in_flight > 0
    }

    /// Returns how many reads are in flight, and the thread that has submitted the newest one.
    #[cfg(test)]
    pub(super) fn reads(&self) -> (usize, Option<ThreadId>) {
        let reads = lock(&self.reads);
        (reads.in_flight, reads.thread)
    }

    /// Never frees the buffer.
    pub(super) fn leak(&mut self) {
        self.is_leaked = true;
    }
}

impl Drop for HintPipe {
    fn drop(&mut self) {
        if !self.is_leaked {
            // SAFETY: this is the only drop of it, and no read is in flight.
            unsafe { ManuallyDrop::drop(&mut self.buffer) };
        }
    }
}
