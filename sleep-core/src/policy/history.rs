//! What a worker has learned about its rounds, and when it was last woken.

use super::IdlePolicy;
use crate::{
    parker::Parker,
    primitive::{AtomicUsize, LoadStoreU8, Ordering},
};

/// The least number of rounds is a sixty-fourth of the greatest. The default policy's four take two
/// microseconds, far less than the wake-up of a worker that has slept for as short a time.
const MOST_DOUBLINGS: u8 = 6;
/// The fewest doublings that a long sleep takes back. If it were one, a worker that finds a job in
/// half of its searches would keep all its rounds.
const LOST_AT_LEAST: u8 = 2;
/// How many searches beyond the limit follow a short sleep.
const CREDIT: u8 = 15;

/// What a worker searches for, see [`start_looking`](crate::SleepProtocol::start_looking).
///
/// # Examples
/// ```
/// use sleep_core::{IdlePolicy, Inline, Jec, Parker, Purpose, SleepProtocol, Slot};
/// # struct Core;
/// # impl Parker for Core {
/// #     fn park(&self) {}
/// #     fn unpark(&self) {}
/// # }
///
/// static SLEEP: Jec<Inline<Slot<Core>, 2>> =
///     Jec::from_array([const { Slot::new(Core) }; 2], IdlePolicy::DEFAULT);
///
/// let worker = SLEEP.worker(0)?;
/// // In a join, for the second closure, which another worker runs.
/// let idle = SLEEP.start_looking(worker, Purpose::Wait);
/// SLEEP.work_found(idle, || false);
/// # Ok::<(), sleep_core::UnknownWorker>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Its next job, or something outside the pool. Either may take any time.
    Job,
    /// Any job, while it waits for a job that another worker of its pool is running.
    Wait,
}

/// Whether rounds of one worker have paid off lately: how often to double the least number of them,
/// for each purpose. Most waits are short, also those of a worker that has long pauses between its
/// jobs.
///
/// A new worker has learned nothing and does the least number. So a pool that is created and has
/// little to do does not search for long on each of its workers.
///
/// Kept with the worker, which alone writes it. If the worker changes its thread, what hands the
/// worker over hands this over too; and if it did not, the number of rounds would be an older one.
pub(crate) struct History {
    /// Four bits for each purpose, so that a slot of `Hints` fits into 32 bytes on small
    /// processors.
    doublings: LoadStoreU8,
    /// How many searches beyond the limit on searchers are left.
    credit: LoadStoreU8,
}

impl History {
    const_unless_loom! {
        /// Creates the history of a worker that has done no rounds.
        pub(crate) fn new() -> Self {
            Self { doublings: LoadStoreU8::new(0), credit: LoadStoreU8::new(0) }
        }
    }

    /// Returns how many rounds the worker does before it gets sleepy.
    pub(crate) fn rounds(&self, purpose: Purpose, policy: &IdlePolicy) -> u32 {
        if policy.is_adaptive {
            policy.rounds_until_sleepy >> (MOST_DOUBLINGS - self.doublings(purpose))
        } else {
            policy.rounds_until_sleepy
        }
    }

    /// Returns whether the worker may search for its next job beyond the limit on searchers, and
    /// uses up one such search. A short sleep allows some, a long one none. After that the
    /// worker must sleep again, which shows whether it is still needed: with many searchers,
    /// each one finds a job now and then even if half of them would suffice.
    pub(crate) fn spend_credit(&self) -> bool {
        // Ordering: Relaxed; the worker alone reads and writes this.
        let credit = self.credit.load(Ordering::Relaxed);
        // Ordering: Relaxed, as above.
        self.credit
            .store(credit.saturating_sub(1), Ordering::Relaxed);
        credit > 0
    }

    /// Notes that rounds have found work.
    pub(super) fn record_success(&self, purpose: Purpose) {
        self.set(purpose, MOST_DOUBLINGS.min(self.doublings(purpose) + 1));
    }

    /// Records how long a worker that has slept was without work, in nanoseconds, rounds and sleep
    /// together. `limit` is how long its rounds may take. An unknown time counts as long.
    ///
    /// After a short time, rounds would have found the work. Each time the duration doubles beyond
    /// the limit, one more doubling is lost. So a worker with long pauses loses its rounds at
    /// once, and one whose pauses are occasionally a little too long keeps some.
    pub(super) fn record_sleep(&self, purpose: Purpose, time: Option<u32>, limit: u32) {
        let is_short = time.is_some_and(|time| time <= limit);
        if purpose == Purpose::Job {
            // Ordering: Relaxed, as in `spend_credit`.
            self.credit
                .store(if is_short { CREDIT } else { 0 }, Ordering::Relaxed);
        }
        if is_short {
            self.record_success(purpose);
            return;
        }
        let (mut time, mut lost) = (time.unwrap_or(0), LOST_AT_LEAST);
        while time / 2 > limit {
            time /= 2;
            lost += 1;
        }
        self.set(purpose, self.doublings(purpose).saturating_sub(lost));
    }

    fn doublings(&self, purpose: Purpose) -> u8 {
        self.both() >> shift(purpose) & BITS
    }

    fn set(&self, purpose: Purpose, doublings: u8) {
        let other = self.both() & !(BITS << shift(purpose));
        // Ordering: Relaxed; the worker alone reads and writes this.
        self.doublings
            .store(other | doublings << shift(purpose), Ordering::Relaxed);
    }

    fn both(&self) -> u8 {
        // Ordering: Relaxed, as in `set`.
        self.doublings.load(Ordering::Relaxed)
    }
}

/// The bits of one purpose.
const BITS: u8 = 0b1111;

/// Returns where the bits of a purpose are.
const fn shift(purpose: Purpose) -> u8 {
    match purpose {
        Purpose::Job => 0,
        Purpose::Wait => 4,
    }
}

/// When another thread last woke a worker. With it, the worker separates the time without work from
/// the duration of its own wake-up.
///
/// Kept with the worker, and written by its wakers. Protocols use it only to choose the number of
/// rounds. Not a part of [`History`], so that a slot wastes no bytes between the two.
pub(crate) struct WakeTime {
    /// By the clock of the worker's parker, as many nanoseconds as a word holds.
    nanoseconds: AtomicUsize,
}

impl WakeTime {
    const_unless_loom! {
        /// Creates the time of a worker that was never woken.
        pub(crate) fn new() -> Self {
            Self { nanoseconds: AtomicUsize::new(0) }
        }
    }

    /// Notes that the calling thread has just unparked the worker. Called after that, so that
    /// reading the clock does not delay the worker.
    #[inline]
    pub(crate) fn note(&self, parker: &impl Parker) {
        if let Some(now) = parker.now() {
            // Ordering: Relaxed. A worker that misses this counts its own wake-up as time without
            // work. A worker that already sleeps again counts that sleep as shorter.
            self.nanoseconds.store(now as usize, Ordering::Relaxed);
        }
    }

    /// Returns the later one of this time and another one, which is of the worker's own clock.
    ///
    /// If this time looks like the later one, the clock tells whether it is. A word of 32 bits
    /// cannot tell a time that was noted long ago, or never, from one in the next two seconds. And
    /// this time may be of another worker's clock.
    pub(super) fn later(&self, other: u64, parker: &impl Parker) -> u64 {
        // Ordering: Relaxed, as above.
        let since = self
            .nanoseconds
            .load(Ordering::Relaxed)
            .wrapping_sub(other as usize);
        if since == 0 || since.cast_signed() < 0 {
            return other;
        }
        let passed = parker.now().map_or(0, |now| now.saturating_sub(other));
        let since = since as u64;
        if since <= passed {
            other + since
        } else {
            other
        }
    }

    /// Returns for how long there was no work for a worker that has slept: from the moment in which
    /// it had none until another thread woke it. How long it took until the worker's thread ran
    /// does not count, since a worker that searches would have found the work before.
    ///
    /// `None` without a clock.
    pub(super) fn time_without_work(&self, began: u64, parker: &impl Parker) -> Option<u64> {
        // Ordering: Relaxed, as above.
        let woken_at = self.nanoseconds.load(Ordering::Relaxed);
        // A word of 32 bits holds four seconds, so that a longer sleep can look like a short one,
        // rarely. Then there are a few rounds more.
        let until_woken = woken_at.wrapping_sub(began as usize);
        if until_woken.cast_signed() >= 0 {
            return Some(until_woken as u64);
        }
        // The time of an earlier wake-up: that of this one has not been noted yet.
        parker.now().map(|now| now.saturating_sub(began))
    }
}
