//! What a worker is doing, and how long it has done what.

use core::{fmt, time::Duration};

use super::{counter::Counter, observer::Clock};
use crate::primitive::{AtomicBool, AtomicU8, AtomicUsize, Ordering, fence, spin_loop};

/// What a worker is doing at one moment.
///
/// # Examples
/// ```
/// use pool_core::WorkerState;
///
/// assert_eq!(format!("{:>8}", WorkerState::Asleep), "  asleep");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
#[repr(u8)]
pub enum WorkerState {
    /// The worker runs a job, or code of its own.
    Active,
    /// The worker is awake and searches for a job.
    Idle,
    /// The worker sleeps until another thread wakes it.
    Asleep,
    /// No thread is the worker: none has come yet, or it has left.
    Absent,
    /// The pool is built without metrics, see [`NoMetrics`](crate::NoMetrics).
    #[default]
    Unknown,
}

impl WorkerState {
    const fn from_byte(byte: u8) -> Self {
        match byte {
            0 | LENT => Self::Active,
            1 => Self::Idle,
            2 => Self::Asleep,
            _ => Self::Absent,
        }
    }
}

impl fmt::Display for WorkerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Absent => "absent",
            Self::Active => "active",
            Self::Idle => "idle",
            Self::Asleep => "asleep",
            Self::Unknown => "unknown",
        })
    }
}

/// How long a worker was active, idle and asleep.
///
/// # Examples
/// ```
/// use core::time::Duration;
///
/// use pool_core::WorkerTimes;
///
/// let times = WorkerTimes::default();
/// assert_eq!(times.active + times.idle + times.asleep, Duration::ZERO);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct WorkerTimes {
    /// Running jobs, or code of its own.
    pub active: Duration,
    /// Awake and searching for jobs.
    pub idle: Duration,
    /// Asleep.
    pub asleep: Duration,
}

impl WorkerTimes {
    /// Returns what has been added since an earlier look at the same worker.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    /// use pool_core::WorkerTimes;
    ///
    /// let mut earlier = WorkerTimes::default();
    /// earlier.active = Duration::from_secs(2);
    /// let mut now = earlier;
    /// now.active += Duration::from_secs(1);
    /// assert_eq!(now.since(earlier).active, Duration::from_secs(1));
    /// ```
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            active: self.active.saturating_sub(earlier.active),
            idle: self.idle.saturating_sub(earlier.idle),
            asleep: self.asleep.saturating_sub(earlier.asleep),
        }
    }

    /// Returns the times of two workers together.
    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            active: self.active.saturating_add(other.active),
            idle: self.idle.saturating_add(other.idle),
            asleep: self.asleep.saturating_add(other.asleep),
        }
    }
}

/// What a stopwatch has for its state while a guest that is not timed has the place of a sleeping
/// worker. The worker is active, and the time counts as sleep: the hand is not moved.
const LENT: u8 = 4;

/// A guest that stays for a shorter time, in nanoseconds, is not worth two looks at the clock.
pub(super) const SHORT_STAY: u64 = 10_000;

/// How many guests are not timed after one whose stay was short.
pub(super) const UNTIMED_GUESTS: u8 = 63;

/// Returns which hand of a stopwatch moves in a state.
fn hand(state: u8) -> usize {
    match state {
        LENT => usize::from(WorkerState::Asleep as u8),
        state => usize::from(state),
    }
}

/// How often a reader looks again when the worker changes its state at the same time.
const LOOKS: usize = if cfg!(loom) { 1 } else { 16 };

/// A worker's state and a stopwatch with three hands, which the worker writes and any thread reads.
///
/// A sequence lock: readers look again while the worker writes. They give up after some looks,
/// since the worker may have lost its core in the middle, perhaps to an interrupt handler that
/// reads. Then their figures are wrong by one interval, and nothing else.
pub(super) struct Stopwatch {
    /// Odd while the worker writes.
    version: AtomicUsize,
    state: AtomicU8,
    /// The clock has been seen to go.
    has_time: AtomicBool,
    /// When the current state began, in the clock's nanoseconds.
    since: Counter,
    /// Nanoseconds in finished intervals, by state.
    totals: [Counter; 3],
    /// How many of the next guests are not timed.
    untimed_guests: AtomicU8,
    /// When the last guest that was timed has come.
    guest_since: Counter,
}

impl Stopwatch {
    const_unless_loom! {
        pub(super) fn new() -> Self {
            Self {
                version: AtomicUsize::new(0),
                state: AtomicU8::new(WorkerState::Absent as u8),
                has_time: AtomicBool::new(false),
                since: Counter::new(),
                totals: [Counter::new(), Counter::new(), Counter::new()],
                untimed_guests: AtomicU8::new(0),
                guest_since: Counter::new(),
            }
        }
    }

    /// Says that a guest has come. Only for the guest, before it uses the worker.
    ///
    /// Most calls as a guest are as short as a look at the clock. So only one of many is timed, and
    /// each one that comes after a long one.
    pub(super) fn lend(&self, clock: Clock) {
        // Ordering: Relaxed. Only guests access it, and they are ordered. The same holds below.
        match self.untimed_guests.load(Ordering::Relaxed) {
            0 => {
                self.switch(WorkerState::Active, clock);
                self.guest_since.set(self.since.get());
            }
            count => {
                self.untimed_guests.store(count - 1, Ordering::Relaxed);
                self.replace(WorkerState::Asleep as u8, LENT);
            }
        }
    }

    /// Says that the guest has left. Only for the guest.
    pub(super) fn give_back(&self, clock: Clock) {
        if self.replace(LENT, WorkerState::Asleep as u8) {
            return;
        }
        self.switch(WorkerState::Asleep, clock);
        // Long, too, for a guest that was not timed and has searched.
        let stay = self.since.get().saturating_sub(self.guest_since.get());
        let untimed = if stay < SHORT_STAY { UNTIMED_GUESTS } else { 0 };
        self.untimed_guests.store(untimed, Ordering::Relaxed);
    }

    /// Replaces the state by another one with the same hand. Returns whether it was this one.
    fn replace(&self, state: u8, new: u8) -> bool {
        // Ordering: Relaxed, as in `switch`. A reader that sees one of the two reads the same
        // times.
        let is_it = self.state.load(Ordering::Relaxed) == state;
        if is_it {
            self.state.store(new, Ordering::Relaxed);
        }
        is_it
    }

    /// Begins another state. Only for the worker.
    pub(super) fn switch(&self, to: WorkerState, clock: Clock) {
        let now = clock();
        // Ordering: Relaxed, the worker reads what it wrote itself. This holds for all its loads
        // here.
        let version = self.version.load(Ordering::Relaxed);
        // Ordering: Relaxed with the fence behind it. A reader that sees anything of what follows
        // sees the odd version too, when it looks at the version again.
        self.version
            .store(version.wrapping_add(1), Ordering::Relaxed);
        fence(Ordering::Release);
        let from = hand(self.state.load(Ordering::Relaxed));
        // Ordering: Relaxed, the version publishes it. The same holds for the stores below.
        self.state.store(to as u8, Ordering::Relaxed);
        if let Some(now) = now {
            // A clock that starts late says nothing of the time before.
            let is_timed = self.has_time.load(Ordering::Relaxed);
            if let Some(total) = self.totals.get(from).filter(|_| is_timed) {
                total.add(now.saturating_sub(self.since.get()));
            }
            // A clock that goes back, as between two cores, does not take the stopwatch back.
            self.since.set(now.max(self.since.get()));
            self.has_time.store(true, Ordering::Relaxed);
        }
        // Ordering: Release pairs with `read`: a reader of this version sees all of the above.
        self.version
            .store(version.wrapping_add(2), Ordering::Release);
    }

    /// Returns the worker's state, and its times if there is a clock.
    pub(super) fn read(&self, clock: Clock) -> (WorkerState, Option<WorkerTimes>) {
        let mut look = self.look(clock);
        let mut looks = 1;
        while !look.is_consistent && looks < LOOKS {
            spin_loop();
            look = self.look(clock);
            looks += 1;
        }
        (look.state, look.times)
    }

    /// Returns what one look of [`read`](Self::read) finds, or `None` if the worker has written
    /// meanwhile.
    #[cfg(all(test, loom))]
    pub(super) fn read_consistent(
        &self,
        clock: Clock,
    ) -> Option<(WorkerState, Option<WorkerTimes>)> {
        let look = self.look(clock);
        look.is_consistent.then_some((look.state, look.times))
    }

    /// Reads everything once.
    fn look(&self, clock: Clock) -> Look {
        // Ordering: Acquire pairs with the last store in `switch`.
        let version = self.version.load(Ordering::Acquire);
        // Ordering: Relaxed, the version says whether these belong together.
        let state = self.state.load(Ordering::Relaxed);
        let has_time = self.has_time.load(Ordering::Relaxed);
        let since = self.since.get();
        let mut totals = [0, 1, 2].map(|index: usize| self.totals[index].get());
        // Ordering: pairs with the fence in `switch`: if any of the above is new, the version below
        // is.
        fence(Ordering::Acquire);
        let is_consistent =
            version.is_multiple_of(2) && self.version.load(Ordering::Relaxed) == version;
        let now = if has_time { clock() } else { None };
        let times = now.map(|now| {
            if let Some(total) = totals.get_mut(hand(state)) {
                *total = total.saturating_add(now.saturating_sub(since));
            }
            let [active, idle, asleep] = totals.map(Duration::from_nanos);
            WorkerTimes {
                active,
                idle,
                asleep,
            }
        });
        let state = WorkerState::from_byte(state);
        Look {
            is_consistent,
            state,
            times,
        }
    }
}

/// What a reader has read once.
struct Look {
    /// The worker wrote nothing meanwhile.
    is_consistent: bool,
    state: WorkerState,
    times: Option<WorkerTimes>,
}
