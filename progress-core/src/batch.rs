//! Operations that were scheduled a moment ago.

use core::{mem::MaybeUninit, ptr::NonNull};

use crate::operation::Header;

/// How many operations are sealed at once.
const CAPACITY: usize = 32;

/// Operations that have no value yet, in the order of their scheduling.
///
/// They get one together: one fence for all of them. And nothing is written to them before, since
/// that would wait for each one's cache line, which another processor may have.
pub(crate) struct Batch {
    operations: [MaybeUninit<NonNull<Header>>; CAPACITY],
    /// The first so many are there.
    count: usize,
}

impl Batch {
    pub(crate) const fn new() -> Self {
        Self {
            operations: [MaybeUninit::uninit(); CAPACITY],
            count: 0,
        }
    }

    pub(crate) const fn len(&self) -> usize {
        self.count
    }

    pub(crate) const fn is_full(&self) -> bool {
        self.count == CAPACITY
    }

    /// Adds an operation.
    ///
    /// # Panics
    /// If the batch is full.
    #[inline]
    pub(crate) fn push(&mut self, operation: NonNull<Header>) {
        self.operations[self.count].write(operation);
        self.count += 1;
    }

    /// Takes all of them out.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = NonNull<Header>> {
        let count = core::mem::take(&mut self.count);
        // SAFETY: the first `count` were written by `push`.
        self.operations[..count]
            .iter()
            .map(|operation| unsafe { operation.assume_init() })
    }
}
