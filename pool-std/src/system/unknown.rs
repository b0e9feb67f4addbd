//! The answers for systems that are not asked.

#![allow(dead_code, reason = "each system takes what it does not have")]

use std::{
    sync::atomic::AtomicU32,
    thread::{self, JoinHandle},
    time::Duration,
};

use super::{Stack, ThreadState};

/// Whether a thread can wait for a word in memory.
pub(crate) const fn has_futex() -> bool {
    false
}

/// Lets another thread run, which is a wait that ends early.
pub(crate) fn futex_wait(_word: &AtomicU32, _expected: u32, _limit: Option<Duration>) {
    thread::yield_now();
}

pub(crate) const fn futex_wake_one(_word: &AtomicU32) {}

pub(crate) const fn thread_number() -> Option<i32> {
    None
}

pub(crate) const fn threads() -> [i32; 0] {
    []
}

pub(crate) const fn state_of_thread(_thread: i32) -> Option<ThreadState> {
    None
}

pub(crate) const fn thread_time(_thread: i32) -> Option<Duration> {
    None
}

pub(crate) const fn process_time() -> Option<Duration> {
    None
}

pub(crate) const fn num_processors_by_affinity() -> Option<usize> {
    None
}

pub(crate) const fn num_processors_of_machine() -> Option<usize> {
    None
}

pub(crate) const fn stack_of_this_thread() -> Option<Stack> {
    None
}

/// Whether [`try_join`] returns at once.
pub(crate) const JOINS_AT_ONCE: bool = false;

/// Joins a thread if it has returned, or else gives it back. Waits until its thread-locals are
/// destroyed, which no system here tells.
pub(crate) fn try_join(thread: JoinHandle<()>) -> Result<(), JoinHandle<()>> {
    if !thread.is_finished() {
        return Err(thread);
    }
    // Its panics were handled on the thread.
    _ = thread.join();
    Ok(())
}

/// Registers no handler: processes cannot be forked, or their children are not known.
pub(crate) const fn call_in_children(_handler: unsafe extern "C" fn()) -> bool {
    true
}

pub(crate) const fn register_process_fence() -> bool {
    false
}

pub(crate) const fn process_fence() -> bool {
    false
}

pub(crate) const fn registers_at_once() -> bool {
    true
}
