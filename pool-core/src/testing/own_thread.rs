//! What a test observes of the calls that it makes on its own thread, and what it decides for them.

use std::cell::Cell;
#[cfg(not(loom))]
use std::{boxed::Box, cell::RefCell, thread_local};

#[cfg(loom)]
use ::loom::thread_local;

/// What a test may observe.
#[cfg(not(loom))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    KeepAlive,
    Unpark,
    /// A queue is asked whether it is empty.
    Look,
    /// A queue is asked for a job.
    Take,
    /// A worker that is about to sleep asks for a process fence.
    ProcessFence,
    /// A worker parks.
    Park,
    /// Thread progress executes a heavy fence.
    HeavyFence,
}

#[cfg(not(loom))]
type Observer = Box<dyn Fn(Event)>;

#[cfg(not(loom))]
thread_local! {
    static OBSERVER: RefCell<Option<Observer>> = RefCell::new(None);
}

/// Calls a closure at the beginning of each event on this thread, until the next call.
#[cfg(not(loom))]
pub(crate) fn observe(observer: Option<Observer>) {
    OBSERVER.with(|place| place.replace(observer));
}

/// Tells the observer of this thread. For doubles of what the pool calls.
#[cfg(not(loom))]
pub(crate) fn observed(event: Event) {
    OBSERVER.with(|observer| {
        if let Some(observer) = &*observer.borrow() {
            observer(event);
        }
    });
}

// Of the standard library, because all threads of a model are on one thread of the system.
std::thread_local! {
    /// The smallest count of references that a removal from a watched pool has left.
    pub(crate) static FEWEST_REFERENCES: Cell<usize> = const { Cell::new(usize::MAX) };
}

thread_local! {
    /// What a process fence answers on this thread.
    pub(crate) static HAS_PROCESS_FENCE: Cell<bool> = Cell::new(false);
}

thread_local! {
    /// How many workers can make progress at a time, as this thread sees it.
    pub(crate) static PARALLELISM: Cell<usize> = Cell::new(usize::MAX);
    /// The seed of each worker that is created on this thread.
    pub(crate) static RANDOM_SEED: Cell<u64> = Cell::new(7);
}

#[cfg(not(loom))]
thread_local! {
    /// The time in nanoseconds, as this thread sees it.
    pub(crate) static NOW: Cell<Option<u64>> = const { Cell::new(None) };
}
