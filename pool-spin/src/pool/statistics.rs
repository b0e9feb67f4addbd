//! What a worker has done so far.

use pool_core::UnknownWorker;

use super::{SpinPool, system::System};
use crate::primitive::{AtomicUsize, Ordering};

/// What one worker has done since the program began. From
/// [`SpinPool::statistics`](crate::SpinPool::statistics).
///
/// The numbers wrap around, and are not taken all at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// Jobs that it took from queues. A second closure of a join that nobody stole is none.
    pub jobs: usize,
    /// Jobs of these that it stole from other workers.
    pub steals: usize,
    /// How often it parked.
    pub sleeps: usize,
    /// How often others unparked it.
    pub wake_ups: usize,
}

impl<S: System> SpinPool<S> {
    /// What a worker has done so far.
    ///
    /// # Errors
    /// [`UnknownWorker`] if there are not so many.
    pub fn statistics(&self, index: usize) -> Result<Statistics, UnknownWorker> {
        let worker = self.registry().worker(index)?;
        let [jobs, steals] = &*self.registry().data().counters.as_ref()[worker.get()];
        let parker = self.registry().parker(worker);
        Ok(Statistics {
            jobs: jobs.get(),
            steals: steals.get(),
            sleeps: parker.sleeps(),
            wake_ups: parker.wake_ups(),
        })
    }

    /// How many workers sleep just now; old when it arrives.
    pub fn num_sleeping(&self) -> usize {
        self.registry().num_sleeping()
    }
}

/// A number that one core counts up and others read.
pub struct Counter(AtomicUsize);

impl Counter {
    pub(crate) const fn new() -> Self {
        Self(AtomicUsize::new(0))
    }

    /// Only by its owner, hence no read-modify-write.
    #[inline]
    pub(crate) fn count(&self) {
        let number = self.0.load(Ordering::Relaxed);
        self.0.store(number.wrapping_add(1), Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}
