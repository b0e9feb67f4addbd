//! What the accounting knows of one worker.

use core::fmt;

use crate::{
    index::WorkerIndex,
    primitive::{AtomicBool, AtomicU32, Ordering},
};

/// What a worker is doing, as the accounting sees it.
///
/// # Examples
/// ```
/// use sleep_core::deadlock::State;
///
/// assert_eq!(State::Blocked.to_string(), "blocked");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// No thread or core is this worker.
    Absent,
    /// The worker runs a job, searches for one, or has been told to wake up.
    Active,
    /// The worker sleeps in the pool until there is work, or until its latch is set.
    Asleep,
    /// The worker waits for an event that the pool does not know about.
    Blocked,
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            State::Absent => "absent",
            State::Active => "active",
            State::Asleep => "asleep",
            State::Blocked => "blocked",
        })
    }
}

/// Names one blocked section of one worker.
///
/// Returned by [`Accounting::mark_blocked`](super::Accounting::mark_blocked), and taken by the
/// functions that end the section. A ticket of an earlier section of the worker is refused, until
/// the worker has been blocked 2³⁰ times more.
///
/// # Examples
/// See the front page of [this module](crate::deadlock).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticket {
    worker: WorkerIndex,
    episode: u32,
}

impl Ticket {
    pub(super) const fn new(worker: WorkerIndex, episode: u32) -> Self {
        Self { worker, episode }
    }

    /// Returns the worker that is blocked.
    #[must_use]
    pub const fn worker(self) -> WorkerIndex {
        self.worker
    }

    /// Returns the number of the section, which counts the sections of this worker.
    #[must_use]
    pub const fn episode(self) -> u32 {
        self.episode
    }
}

/// The low bits of an entry's word, which hold the state; the rest counts blocked sections.
const STATE: u32 = 0b11;
/// One blocked section.
const EPISODE: u32 = STATE + 1;

fn state_of(word: u32) -> State {
    match word & STATE {
        0 => State::Absent,
        1 => State::Active,
        2 => State::Asleep,
        _ => State::Blocked,
    }
}

/// What an [`Accounting`](super::Accounting) keeps for one worker.
///
/// An entry belongs to one accounting. If two use the same entry, reports are false or missed, but
/// nothing worse happens.
///
/// # Examples
/// See the front page of [this module](crate::deadlock).
pub struct WorkerEntry {
    /// State and number of sections. Changed only with the lock of the accounting held.
    word: AtomicU32,
    /// Whether a thread has set the latch of this worker and is about to wake it. Changed without
    /// the lock.
    waking: AtomicBool,
}

impl WorkerEntry {
    const_unless_loom! {
        /// Creates the entry of an absent worker.
        #[must_use]
        pub fn new() -> Self {
            Self { word: AtomicU32::new(State::Absent as u32), waking: AtomicBool::new(false) }
        }
    }

    fn word(&self) -> u32 {
        // Ordering: Relaxed; the lock of the accounting orders all changes. A thread without the
        // lock reads it for debug output only.
        self.word.load(Ordering::Relaxed)
    }

    pub(super) fn state(&self) -> State {
        state_of(self.word())
    }

    /// Returns the number of the section in which the worker is blocked. Both are of one moment,
    /// also without the lock.
    pub(super) fn blocked_episode(&self) -> Option<u32> {
        let word = self.word();
        (state_of(word) == State::Blocked).then_some(word / EPISODE)
    }

    /// Returns the number of the worker's last blocked section.
    pub(super) fn episode(&self) -> u32 {
        self.word() / EPISODE
    }

    /// Changes the state. Only with the lock held.
    pub(super) fn set_state(&self, state: State) {
        let word = (self.word() & !STATE) | state as u32;
        // Ordering: Relaxed, see `word`.
        self.word.store(word, Ordering::Relaxed);
    }

    /// Begins a blocked section and returns its number. Only with the lock held.
    pub(super) fn begin_episode(&self) -> u32 {
        let word = (self.word().wrapping_add(EPISODE) & !STATE) | State::Blocked as u32;
        // Ordering: Relaxed, see `word`.
        self.word.store(word, Ordering::Relaxed);
        word / EPISODE
    }

    /// Notes that the caller has set the worker's latch and is about to wake the worker.
    pub(super) fn set_waking(&self) {
        // Ordering: Release pairs with `clear_waking`. A waiter that clears this note then sees
        // that its latch is set. With Relaxed the waiter could clear the note, read an
        // older latch, and count as asleep although it is being woken. An exchange, as in
        // `clear_waking`, so that a model, too, knows which of the two came last.
        self.waking.swap(true, Ordering::Release);
    }

    /// Forgets the note of a setter. The caller looks at its latch afterwards.
    pub(super) fn clear_waking(&self) {
        // Ordering: Acquire pairs with `set_waking`, which says why. An exchange, because a store
        // would not receive what the setter wrote.
        self.waking.swap(false, Ordering::Acquire);
    }

    /// Whether a setter is about to wake the worker.
    pub(super) fn is_waking(&self) -> bool {
        // Ordering: Relaxed. A setter that is a worker wrote the note before it gave up being
        // active, which it does with the lock held, as our caller holds it. So the note is
        // visible.
        self.waking.load(Ordering::Relaxed)
    }
}

impl Default for WorkerEntry {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for WorkerEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkerEntry")
            .field("state", &self.state())
            .field("episode", &self.episode())
            .finish_non_exhaustive()
    }
}
