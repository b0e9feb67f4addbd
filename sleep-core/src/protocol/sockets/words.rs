//! What all sockets share: in which of them workers may sleep, and in which many are awake.

use core::fmt;

use crossbeam_utils::CachePadded;

use crate::primitive::{AtomicUsize, Ordering, fence};

/// A socket is crowded when more than one in this many of its workers is awake.
const MANY: usize = 8;

/// A socket is crowded no longer when at most one in this many is awake. In between the bit is left
/// as it is, so that its readers keep the line.
const FEW: usize = 32;

/// Two words with one bit for each socket, on lines of their own.
///
/// The first says in which sockets workers may sleep. A worker that registers as a sleeper sees the
/// bit of its socket set in its last look, or sets it. Only threads that have jobs for others clear
/// bits, see [`forget_if_awake`](super::Sockets::forget_if_awake): a worker that wakes up writes
/// nothing here, so that the line changes seldom while workers fall asleep and wake up in turns.
///
/// The second is advice for searches: in which sockets many workers are awake, so that looking
/// which ones they are does not pay.
pub(super) struct Words {
    asleep: CachePadded<AtomicUsize>,
    crowded: CachePadded<AtomicUsize>,
}

impl Words {
    pub(super) fn new() -> Self {
        Self {
            asleep: CachePadded::new(AtomicUsize::new(0)),
            crowded: CachePadded::new(AtomicUsize::new(0)),
        }
    }

    /// Whether no socket has a worker that may sleep. One load.
    #[inline]
    pub(super) fn none_may_sleep(&self) -> bool {
        self.asleep() == 0
    }

    /// Whether workers of a socket may sleep.
    #[inline]
    pub(super) fn may_sleep(&self, socket: usize) -> bool {
        self.asleep() & bit(socket) != 0
    }

    /// Whether workers of another socket than this one may sleep.
    #[inline]
    pub(super) fn others_may_sleep(&self, socket: usize) -> bool {
        self.asleep() & !bit(socket) != 0
    }

    /// Notes that a worker of a socket has registered as a sleeper. The worker calls this in its
    /// last look, after the fence that follows its registration and before it looks at a queue.
    #[inline]
    pub(super) fn note_sleeper(&self, socket: usize) {
        if !self.may_sleep(socket) {
            self.set_asleep(socket);
        }
        // Ordering: the sleeper's fence, for posters that look at the bit. Pairs with the one in
        // `announce`, and with that of a worker that asks whether all are awake. A thread that
        // reads the bit as clear read it before it was set, by this worker or by the one whose
        // setting this worker has read. So its fence came first, and its job is visible to the look
        // that follows. The sleeper's earlier fence came before it saw the bit. Nothing weaker
        // orders a write of the bit, or a read of another worker's, before those looks.
        fence(Ordering::SeqCst);
    }

    /// Sets the bit of a socket.
    pub(super) fn set_asleep(&self, socket: usize) {
        // Ordering: Relaxed; the callers' fences order it.
        self.asleep.fetch_or(bit(socket), Ordering::Relaxed);
    }

    /// Clears the bit of a socket. The caller executes a fence, and then looks whether a worker
    /// has registered meanwhile.
    pub(super) fn clear_asleep(&self, socket: usize) {
        // Ordering: Relaxed, as above.
        self.asleep.fetch_and(!bit(socket), Ordering::Relaxed);
    }

    /// Whether many workers of a socket were awake lately.
    #[inline]
    pub(super) fn is_crowded(&self, socket: usize) -> bool {
        // Ordering: Relaxed; it decides only where a search looks, not which workers it leaves out.
        self.crowded.load(Ordering::Relaxed) & bit(socket) != 0
    }

    /// Notes that so many workers of a socket are awake.
    pub(super) fn note_crowd(&self, socket: usize, awake: usize, workers: usize) {
        // Ordering: Relaxed, as in `is_crowded`.
        if self.is_crowded(socket) {
            if awake * FEW <= workers {
                self.crowded.fetch_and(!bit(socket), Ordering::Relaxed);
            }
        } else if awake * MANY > workers {
            self.crowded.fetch_or(bit(socket), Ordering::Relaxed);
        }
    }

    #[inline]
    fn asleep(&self) -> usize {
        // Ordering: Relaxed. A poster, a worker in its last look, and one that has found a job have
        // executed a fence before, see there. Without one, as for internal jobs, the answer may be
        // out of date.
        self.asleep.load(Ordering::Relaxed)
    }
}

const fn bit(socket: usize) -> usize {
    1 << socket
}

impl fmt::Debug for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Ordering: Relaxed, for debug output.
        let crowded = self.crowded.load(Ordering::Relaxed);
        write!(f, "asleep {:#b}, crowded {crowded:#b}", self.asleep())
    }
}
