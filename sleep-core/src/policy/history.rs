//! What a worker has learned about its rounds.

use super::IdlePolicy;
use crate::primitive::{LoadStoreU8, Ordering};

/// The least number of rounds is a sixty-fourth of the greatest. The default policy's four take two
/// microseconds, far less than the wake-up of a worker that has slept for as short a time.
const MOST_DOUBLINGS: u8 = 6;
/// The fewest doublings that a long sleep takes back. If it were one, a worker that finds a job in
/// half of its searches would keep all its rounds.
const LOST_AT_LEAST: u8 = 2;
/// How many searches beyond the limit follow a short sleep.
const CREDIT: u8 = 15;

/// What a worker searches for, see [`start_looking`](crate::SleepProtocol::start_looking).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Its next job, or something outside the pool. Either may take any time.
    Job,
    /// Any job, while it waits for one that another worker of its pool is running.
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
