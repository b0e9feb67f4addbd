//! The list of what is counted, and the counters of one worker.

use core::{fmt, ops};

use crossbeam_utils::CachePadded;

use super::{
    counter::Counter,
    event::Event,
    observer::{Clock, Observer},
    stopwatch::{Stopwatch, WorkerState, WorkerTimes},
};

/// Defines [`Counts`] and the counters behind it. A line is a documented field and the heading of
/// its column in the table.
macro_rules! counts {
    ($($(#[$doc:meta])* $field:ident $heading:literal,)*) => {
        /// How often a worker has done what since the pool was created, or all workers of a pool
        /// together.
        ///
        /// The numbers have 64 bits on every target, and are not taken all at one moment.
        ///
        /// # Examples
        /// ```
        /// use pool_core::Counts;
        ///
        /// let (mut one, mut other) = (Counts::default(), Counts::default());
        /// one.jobs_run = 3;
        /// other.jobs_run = 4;
        /// let sum = one + other;
        /// assert_eq!(sum.jobs_run, 7);
        /// assert_eq!(sum - one, other);
        /// ```
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        #[non_exhaustive]
        pub struct Counts {
            $($(#[$doc])* pub $field: u64,)*
        }

        impl Counts {
            /// The headings of the columns in the table.
            pub(super) const HEADINGS: &'static [&'static str] = &[$($heading),*];

            /// Returns the numbers in the order of the headings.
            pub(super) fn numbers(self) -> [u64; Self::HEADINGS.len()] {
                [$(self.$field),*]
            }
        }

        impl ops::Add for Counts {
            type Output = Self;

            fn add(self, other: Self) -> Self {
                Self { $($field: self.$field.wrapping_add(other.$field)),* }
            }
        }

        /// What was counted between two looks.
        impl ops::Sub for Counts {
            type Output = Self;

            fn sub(self, earlier: Self) -> Self {
                Self { $($field: self.$field.wrapping_sub(earlier.$field)),* }
            }
        }

        struct Counters {
            $($field: Counter,)*
        }

        impl Counters {
            const_unless_loom! {
                fn new() -> Self {
                    Self { $($field: Counter::new()),* }
                }
            }

            fn get(&self) -> Counts {
                Counts { $($field: self.$field.get()),* }
            }
        }
    };
}

counts! {
    /// Jobs that the worker took from a queue and ran. The second closure of a join that no thief
    /// took is none.
    jobs_run "jobs",
    /// Jobs that the worker spawned onto its own deque. Jobs from outside are posted by no worker.
    jobs_posted "posted",
    /// Attempts to steal from another worker's deque that was not empty.
    steals_tried "tried",
    /// Attempts that gave a job.
    steals_succeeded "stolen",
    /// Attempts that another thread kept from deciding, so that the worker tried again.
    steals_retried "retried",
    /// Looks at all sources of work.
    searches "searches",
    /// How often the worker fell asleep.
    sleeps "sleeps",
    /// How often the worker was woken. One less than `sleeps` while it sleeps.
    wakes "wakes",
    /// Wake-ups after which the worker fell asleep again without a job, and without what it waited
    /// for. Counted when it falls asleep again.
    fruitless_wakes "fruitless",
    /// Jobs that the worker ran at once because its deque was full.
    deque_full "full",
    /// Attempts to steal that ended the bias of the victim's deque, so that its pops execute fences
    /// again.
    revocations "revoked",
}

impl core::iter::Sum for Counts {
    fn sum<I: Iterator<Item = Self>>(counts: I) -> Self {
        counts.fold(Self::default(), ops::Add::add)
    }
}

/// Counts what one worker does, on its own cache lines.
///
/// Only the worker writes, by plain loads and stores, so counting costs almost nothing. Any thread
/// reads.
///
/// # Examples
/// ```
/// use pool_core::{Event, Observer, WorkerCounters};
///
/// static COUNTERS: WorkerCounters = WorkerCounters::new();
///
/// COUNTERS.observe(Event::Search, || None);
/// COUNTERS.observe(Event::Search, || None);
/// assert_eq!(COUNTERS.snapshot(|| None).unwrap().counts.searches, 2);
/// ```
pub struct WorkerCounters {
    line: CachePadded<Line>,
}

struct Line {
    counters: Counters,
    stopwatch: Stopwatch,
}

impl WorkerCounters {
    const_unless_loom! {
        /// Creates counters at zero, for a worker that is absent.
        #[must_use]
        pub fn new() -> Self {
            let (counters, stopwatch) = (Counters::new(), Stopwatch::new());
            Self { line: CachePadded::new(Line { counters, stopwatch }) }
        }
    }

    #[inline]
    fn counters(&self) -> &Counters {
        &self.line.counters
    }

    fn switch(&self, to: WorkerState, clock: Clock) {
        self.line.stopwatch.switch(to, clock);
    }
}

impl Default for WorkerCounters {
    fn default() -> Self {
        Self::new()
    }
}

impl Observer for WorkerCounters {
    // Inlined where the event is known, so that nothing of the match is left.
    #[inline(always)]
    fn observe(&self, event: Event, clock: Clock) {
        let counters = self.counters();
        match event {
            Event::Enter | Event::Active(_) => self.switch(WorkerState::Active, clock),
            Event::Leave => self.switch(WorkerState::Absent, clock),
            Event::Idle => self.switch(WorkerState::Idle, clock),
            Event::Sleep => {
                counters.sleeps.add(1);
                self.switch(WorkerState::Asleep, clock);
            }
            // Does not read the clock, which would delay the job: the worker counts as asleep until
            // its first search has ended.
            Event::Wake(_) => counters.wakes.add(1),
            Event::GuestArrived => self.line.stopwatch.lend(clock),
            Event::GuestLeft => self.line.stopwatch.give_back(clock),
            Event::FruitlessWake => counters.fruitless_wakes.add(1),
            Event::Job(_) => counters.jobs_run.add(1),
            Event::Post { count } => counters.jobs_posted.add(count as u64),
            Event::DequeFull => counters.deque_full.add(1),
            Event::Search => counters.searches.add(1),
            Event::StealAttempt { .. } => counters.steals_tried.add(1),
            Event::Steal { .. } => counters.steals_succeeded.add(1),
            Event::StealRetry { .. } => counters.steals_retried.add(1),
            Event::Revocation { .. } => counters.revocations.add(1),
            Event::JobEnd
            | Event::TurnedBack
            | Event::Moved { .. }
            | Event::LatchSet { .. }
            | Event::Blocked
            | Event::Unblocked
            | Event::Label(_)
            | Event::LabelEnd => {}
        }
    }

    fn snapshot(&self, clock: Clock) -> Option<WorkerSnapshot> {
        let counts = self.counters().get();
        let (state, times) = self.line.stopwatch.read(clock);
        Some(WorkerSnapshot {
            state,
            counts,
            times,
        })
    }
}

impl fmt::Debug for WorkerCounters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WorkerCounters")
            .field(&self.counters().get())
            .finish()
    }
}

/// What was observed of a worker so far. Created by [`Observer::snapshot`].
///
/// # Examples
/// ```
/// use pool_core::{Observer, WorkerCounters};
///
/// let counters = WorkerCounters::new();
/// let snapshot = counters.snapshot(|| None).expect("it counts");
/// assert_eq!(snapshot.counts.jobs_run, 0);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WorkerSnapshot {
    /// What the worker is doing at this moment.
    pub state: WorkerState,
    /// How often it has done what.
    pub counts: Counts,
    /// How long it was active, idle and asleep. None without a clock.
    pub times: Option<WorkerTimes>,
}
