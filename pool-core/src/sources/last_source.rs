//! Where a worker has found jobs lately.

use core::cell::Cell;

#[cfg(all(test, not(loom)))]
mod tests;

/// The number of jobs that a worker takes from one source before it looks elsewhere again, in the
/// order in which it always searches.
const MOST_IN_A_ROW: u8 = 64;

/// A source that workers take jobs of others from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    Injector,
    /// The deque of the worker with this number.
    Worker(usize),
}

/// The source in which a worker's last search has found a job, and for how many jobs more the
/// worker looks there first.
#[derive(Debug)]
pub(crate) struct LastSource {
    source: Cell<Source>,
    left: Cell<u8>,
}

impl LastSource {
    /// Creates the value of a worker that has found no job yet.
    pub(crate) const fn new() -> Self {
        Self {
            source: Cell::new(Source::Injector),
            left: Cell::new(0),
        }
    }

    /// Notes that the worker has found a job in this source.
    #[inline]
    pub(crate) fn note_found(&self, source: Source) {
        self.source.set(source);
        self.left.set(MOST_IN_A_ROW);
    }

    /// Returns where to look for one more job.
    #[inline]
    pub(crate) fn next(&self) -> Option<Source> {
        let left = self.left.get().checked_sub(1)?;
        self.left.set(left);
        Some(self.source.get())
    }

    /// Whether the last search that found a job found it in another worker's deque.
    #[inline]
    pub(crate) fn was_worker(&self) -> bool {
        matches!(self.source.get(), Source::Worker(_))
    }

    /// Notes that the source had no more.
    pub(crate) fn note_empty(&self) {
        self.left.set(0);
    }
}
