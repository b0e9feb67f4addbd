//! Room for a batch.

use super::Worker;
use crate::{
    deque::{Handle, Position},
    element::{Element, Slot},
    primitive::Ordering,
};

/// Free cells beyond `bottom`, which a batch steal fills before it knows whether the elements are
/// its own.
pub(crate) struct Reserved<'a, H: Handle> {
    worker: &'a Worker<H>,
    bottom: Position,
    pub(crate) room: usize,
}

impl<H: Handle> Worker<H> {
    /// Reserves room for up to `count` elements that are not pushed one by one.
    pub(crate) fn reserve(&self, count: usize) -> Reserved<'_, H> {
        // Ordering: Relaxed, only the owner writes it.
        let bottom = self.deque().bottom.load(Ordering::Relaxed);
        let room = match count {
            0 => 0,
            count => self.make_room(bottom, count),
        };
        Reserved {
            worker: self,
            bottom,
            room,
        }
    }
}

impl<H: Handle> Reserved<'_, H> {
    /// Writes words into the free cell number `offset`. No thief sees them yet.
    pub(crate) fn write(&self, offset: usize, words: <H::Element as Element>::Words) {
        debug_assert!(offset < self.room);
        self.worker.slot(self.bottom.plus(offset)).store(words);
    }

    /// Reverses the order of the first `count` cells.
    pub(crate) fn reverse(&self, count: usize) {
        debug_assert!(count <= self.room);
        let slot = |offset| self.worker.slot(self.bottom.plus(offset));
        for offset in 0..count / 2 {
            let (front, back) = (slot(offset), slot(count - 1 - offset));
            let words = front.load();
            front.store(back.load());
            back.store(words);
        }
    }

    /// Makes the first `count` cells elements of the deque.
    ///
    /// # Safety
    /// 1. They were written, and their words now belong to this deque alone.
    pub(crate) unsafe fn publish(self, count: usize) {
        debug_assert!(count <= self.room);
        if count == 0 {
            return;
        }
        let end = self.bottom.plus(count);
        debug_assert!(end.distance_to(self.worker.fast_push_limit.get()) >= 0);
        self.worker.deque().bottom.publish(end);
    }
}
