//! A thread of the machine.

use corosensei::{Coroutine, Yielder, stack::DefaultStack};

/// Enough for nested joins; only what is touched takes memory.
pub(super) const STACK: usize = if cfg!(debug_assertions) {
    512 << 10
} else {
    256 << 10
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// In the queue: it runs, or will.
    Ready,
    /// In the queue: it waits for a moment.
    Timed,
    /// Waits to be woken.
    Parked,
    Ended,
}

pub(super) struct Thread {
    pub(super) coroutine: Option<Coroutine<(), (), (), DefaultStack>>,
    /// Valid once the thread has begun.
    pub(super) yielder: *const Yielder<(), ()>,
    pub(super) state: State,
    /// When the thread goes on.
    pub(super) clock: u64,
    /// When its stores have left the store buffer.
    pub(super) drained_at: u64,
    /// Until when it keeps its processor though others wait for one, if it has one.
    pub(super) slice_ends: Option<u64>,
    /// What interrupts have taken from it since it ran last.
    pub(super) stolen: u64,
    pub(super) node: u8,
    pub(super) is_worker: bool,
    /// What the platform keeps for the thread.
    pub(super) local: *const (),
}
