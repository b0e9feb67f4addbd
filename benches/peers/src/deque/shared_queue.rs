//! Queues that any thread pushes to, by each system that has one.

use deque_core::Steal;

use super::{Crossbeam, Ours, Queue, queue::in_our_words};

/// A first-in first-out queue for all.
pub(super) trait SharedQueue: Sync + 'static {
    /// Whose it is.
    const SYSTEM: &str;

    fn new() -> Self;
    fn push(&self, element: usize);
    fn steal(&self) -> Steal<usize>;
}

impl SharedQueue for deque_core::Injector<usize> {
    const SYSTEM: &str = Ours::SYSTEM;

    fn new() -> Self {
        Self::new()
    }

    fn push(&self, element: usize) {
        self.push(element);
    }

    fn steal(&self) -> Steal<usize> {
        self.steal()
    }
}

impl SharedQueue for crossbeam_deque::Injector<usize> {
    const SYSTEM: &str = Crossbeam::SYSTEM;

    fn new() -> Self {
        Self::new()
    }

    fn push(&self, element: usize) {
        self.push(element);
    }

    fn steal(&self) -> Steal<usize> {
        in_our_words(self.steal())
    }
}
