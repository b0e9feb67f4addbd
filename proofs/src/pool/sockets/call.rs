//! How far the calls of `Sockets` are.

use crate::pool::jec;

/// Where a call stands. Sockets and workers have numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::pool) enum Call {
    /// A call of the protocol of a socket, and what comes after it.
    Inner(u8, jec::Call, After),
    /// A worker of the socket is about to look a last time. Before that, it looks at the bit of its
    /// socket.
    Notes(u8, jec::Call, After),
    /// It sets the bit.
    NotesClear(u8, jec::Call, After),
    /// A worker of this number has found a job, and wakes others of its own socket, if the pool has
    /// told whether there is more work.
    Found(u8, Option<bool>),
    /// It looks whether workers of other sockets sleep.
    FoundLooks(u8, Option<bool>),
    /// It has asked the pool whether there is more work.
    FoundAsks(u8),
    /// A poster looks whether workers sleep, for so many jobs; whether the queue was empty.
    Announce(u8, bool),
    /// A thread that wakes workers for jobs looks at the bit of the next socket.
    PassesBy(u8, Waking),
    /// It counts the workers of the socket that need not be woken; then it wakes so many at most.
    Counts(u8, u8, Waking),
    /// It looks at the bit of the socket.
    LooksAtBit(u8, u8, Waking),
    /// It has woken workers of the socket, and looks whether others sleep there.
    Forgets(u8, Waking),
    /// It clears the bit of the socket, if it is set.
    ForgetsClear(u8, Waking),
    /// It looks again whether workers sleep there.
    ForgetsLooks(u8, Waking),
    /// It sets the bit again.
    ForgetsSets(u8, Waking),
    /// A guest looks at the bit of a socket.
    BorrowsIn(u8),
    Nothing,
}

/// What comes after a call of the protocol of a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::pool) enum After {
    /// The call ends, and returns what the inner one has.
    Ends,
    /// The worker of this number has found a job. The pool has told whether there is more work, if
    /// it was asked.
    Found(u8, Option<bool>),
    /// The bit of the socket is cleared, if none seems to sleep there.
    Forgets(Waking),
    /// The worker of this number is woken.
    WakesNext(u8, Waking),
    /// A guest looks in the next socket, if it has got no seat.
    Borrows,
}

/// A walk around all sockets, in which workers are woken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::pool) struct Waking {
    /// The socket that is left out, because it comes before all others, or has busy workers.
    pub(super) home: u8,
    /// The socket that is next.
    pub(super) next: u8,
    /// How many sockets it has passed.
    pub(super) passed: u8,
    /// For how many jobs workers are still wanted.
    pub(super) left: u8,
    pub(super) queue_was_empty: bool,
}
