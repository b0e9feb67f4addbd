//! Work-stealing deques, by each system: their owner takes the newest element, thieves the oldest.

use std::sync::Arc;

use crossbeam_deque::Steal as CrossbeamSteal;
use deque_core::{Deque, Order, Steal};
use pool_std::ProcessBarrier;
use st3::StealError;

use super::{Crossbeam, Ours, St3};

/// So many elements are in a queue at most: one of the systems cannot have more than it is made
/// for.
pub(super) const CAPACITY: usize = 4096;
/// So many elements are stolen at a time at most. It is what the others have chosen.
const MAX_BATCH: usize = 32;

/// The owner's end of a deque.
pub(super) trait Queue: 'static {
    /// Whose it is.
    const SYSTEM: &str;
    /// The other end.
    type Thief: Thief<Self>;

    fn new() -> Self;
    fn push(&self, element: usize);
    fn pop(&self) -> Option<usize>;
    fn len(&self) -> usize;
    fn thief(&self) -> Self::Thief;
}

/// A thief's end of a deque. A thief has a queue of its own.
pub(super) trait Thief<Q: ?Sized>: Send {
    /// Steals one element.
    fn steal(&self, own: &Q) -> Steal<usize>;

    /// Steals about half of the elements, all but one of them into the thief's own queue.
    fn steal_batch_and_pop(&self, own: &Q) -> Steal<usize>;
}

impl Queue for Ours {
    const SYSTEM: &str = "ours";
    type Thief = deque_core::Stealer<Arc<Deque<usize, deque_core::Growable<usize>>>>;

    fn new() -> Self {
        let deque = Deque::growable(Order::Lifo).with_process_fence::<ProcessBarrier>();
        Self::new(Arc::new(deque)).expect("it is new")
    }

    #[inline]
    fn push(&self, element: usize) {
        self.push(element);
    }

    #[inline]
    fn pop(&self) -> Option<usize> {
        self.pop()
    }

    fn len(&self) -> usize {
        self.len()
    }

    fn thief(&self) -> Self::Thief {
        self.stealer()
    }
}

impl Thief<Ours> for <Ours as Queue>::Thief {
    fn steal(&self, _: &Ours) -> Steal<usize> {
        self.steal()
    }

    fn steal_batch_and_pop(&self, own: &Ours) -> Steal<usize> {
        self.steal_batch_and_pop(own)
    }
}

impl Queue for Crossbeam {
    const SYSTEM: &str = "crossbeam-deque";
    type Thief = crossbeam_deque::Stealer<usize>;

    fn new() -> Self {
        Self::new_lifo()
    }

    #[inline]
    fn push(&self, element: usize) {
        self.push(element);
    }

    #[inline]
    fn pop(&self) -> Option<usize> {
        self.pop()
    }

    fn len(&self) -> usize {
        self.len()
    }

    fn thief(&self) -> Self::Thief {
        self.stealer()
    }
}

impl Thief<Crossbeam> for crossbeam_deque::Stealer<usize> {
    fn steal(&self, _: &Crossbeam) -> Steal<usize> {
        in_our_words(self.steal())
    }

    fn steal_batch_and_pop(&self, own: &Crossbeam) -> Steal<usize> {
        in_our_words(self.steal_batch_and_pop(own))
    }
}

pub(super) fn in_our_words(steal: CrossbeamSteal<usize>) -> Steal<usize> {
    match steal {
        CrossbeamSteal::Empty => Steal::Empty,
        CrossbeamSteal::Success(element) => Steal::Success(element),
        CrossbeamSteal::Retry => Steal::Retry,
    }
}

impl Queue for St3 {
    const SYSTEM: &str = "st3";
    type Thief = st3::lifo::Stealer<usize>;

    fn new() -> Self {
        Self::new(CAPACITY)
    }

    #[inline]
    fn push(&self, element: usize) {
        self.push(element).expect("no more than its capacity");
    }

    #[inline]
    fn pop(&self) -> Option<usize> {
        self.pop()
    }

    fn len(&self) -> usize {
        CAPACITY - self.spare_capacity()
    }

    fn thief(&self) -> Self::Thief {
        self.stealer()
    }
}

impl Thief<St3> for st3::lifo::Stealer<usize> {
    fn steal(&self, own: &St3) -> Steal<usize> {
        st3_steal(self, own, |_| 1)
    }

    fn steal_batch_and_pop(&self, own: &St3) -> Steal<usize> {
        st3_steal(self, own, |available| available.div_ceil(2).min(MAX_BATCH))
    }
}

fn st3_steal(
    thief: &st3::lifo::Stealer<usize>,
    own: &St3,
    count: impl Fn(usize) -> usize,
) -> Steal<usize> {
    match thief.steal_and_pop(own, count) {
        Ok((element, _)) => Steal::Success(element),
        Err(StealError::Empty) => Steal::Empty,
        Err(StealError::Busy) => Steal::Retry,
    }
}
