//! What a worker does that an observer may want to know.

use crate::job::JobName;

/// What a worker does. It tells its [`Observer`](crate::Observer).
///
/// There is no event for a join whose second closure is not stolen.
///
/// # Examples
/// ```
/// use pool_core::Event;
///
/// /// Whether the worker looks for work from now on.
/// fn begins_search(event: Event) -> bool {
///     matches!(event, Event::Idle)
/// }
/// assert!(begins_search(Event::Idle));
/// assert_ne!(Event::Idle, Event::Sleep);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// A thread has become the worker: it is active.
    Enter,
    /// The thread ceases to be the worker: it is absent.
    Leave,
    /// The worker has run out of work and begins to search, or it was woken and has found none: it
    /// is idle.
    Idle,
    /// The worker stops searching: it is active.
    Active(SearchEnd),
    /// The idle worker is about to park: it is asleep.
    Sleep,
    /// The worker was woken. It is on its way to a job: if its first search finds none,
    /// [`Idle`](Self::Idle) follows.
    Wake(WokenBy),
    /// The idle worker was about to park. The last look, as a registered sleeper, has found work,
    /// so it continues to search.
    TurnedBack,
    /// The last wake-up was fruitless. The worker has not found a job since, what it waits for has
    /// not happened, and it is about to sleep again.
    FruitlessWake,
    /// A thread outside the pool has taken the place of the worker, whose own thread sleeps.
    ///
    /// The worker is active. Reading a clock costs as much as the rest of a short call. So after a
    /// call of less than 10 microseconds, the time of the next 63 counts as sleep, until the guest
    /// first searches for jobs.
    GuestArrived,
    /// The guest is no longer the worker, whose own thread continues to sleep.
    GuestLeft,
    /// The worker is about to run a job that it took from a queue.
    Job(JobName),
    /// The job has ended.
    JobEnd,
    /// The worker has spawned jobs onto its own deque.
    Post {
        /// How many jobs.
        count: usize,
    },
    /// The worker's deque is full. The worker runs the job itself.
    DequeFull,
    /// The worker is about to look at all sources of work once.
    Search,
    /// The worker is about to steal from another one's deque, which is not empty.
    StealAttempt {
        /// The worker whose deque it is.
        victim: usize,
    },
    /// The attempt has succeeded.
    Steal {
        /// The worker whose deque the job was on.
        victim: usize,
    },
    /// Another thread was faster, or kept the attempt from succeeding: the worker tries again.
    StealRetry {
        /// The worker whose deque it is.
        victim: usize,
    },
    /// The attempt ends the bias of the victim's deque, so that its pops execute fences again.
    Revocation {
        /// The worker whose deque it is.
        victim: usize,
    },
    /// The worker has moved jobs from another one's deque to its own, beside the one that it has
    /// stolen.
    Moved {
        /// How many jobs.
        count: usize,
    },
    /// What a worker of the pool waits for has happened: this one, which may be the same, is about
    /// to set its latch.
    ///
    /// Only with the feature `trace`, because the setter must first find out which worker it is.
    LatchSet {
        /// The worker that waits.
        waiter: usize,
    },
    /// The program has marked the worker as blocked.
    Blocked,
    /// The worker is no longer marked as blocked.
    Unblocked,
    /// A part of a job begins that has a name from the program, see
    /// [`labeled`](crate::WorkerThread::labeled).
    Label(&'static &'static str),
    /// The innermost part with a name has ended.
    LabelEnd,
}

/// Why a worker stops searching.
///
/// # Examples
/// ```
/// use pool_core::{Event, SearchEnd};
///
/// let event = Event::Active(SearchEnd::Latch);
/// assert!(matches!(event, Event::Active(SearchEnd::Latch)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum SearchEnd {
    /// It has found a job.
    Job,
    /// What it waits for has happened.
    Latch,
    /// It runs a deferred operation.
    Operation,
}

/// Which worker has woken another one, and when. Created by
/// [`Platform::woken_by`](crate::Platform::woken_by).
///
/// # Examples
/// ```
/// use pool_core::WokenBy;
///
/// // Of a parker that does not keep it.
/// assert_eq!(WokenBy::default(), WokenBy::UNKNOWN);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WokenBy {
    /// The number of the waker, which the platform chooses. Zero stands for a thread that is not a
    /// worker, or for an unknown one.
    pub waker: u32,
    /// When the wake-up was given, by the clock of the trace. Zero if unknown, as for a worker that
    /// found itself awake before its waker had unparked it.
    pub at: u64,
}

impl WokenBy {
    /// The waker is not known.
    pub const UNKNOWN: Self = Self { waker: 0, at: 0 };
}
