//! What each worker counts: what a pool counts anyway, and its fruitless searches.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

#[cfg(test)]
pub(crate) mod transitions;

use pool_core::{Clock, Event, Observer, WorkerCounters, WorkerSnapshot};

/// Counts what one worker does.
///
/// The worker's own counters are those of `pool-core`, which cost what they cost. The count of
/// fruitless searches is the simulator's own and costs nothing.
#[derive(Debug)]
pub struct VirtualObserver {
    counters: WorkerCounters,
    /// The last search has found no job yet.
    is_searching: AtomicBool,
    fruitless: AtomicU64,
    #[cfg(test)]
    pub(crate) transitions: transitions::Transitions,
}

impl VirtualObserver {
    pub(crate) fn new() -> Self {
        Self {
            counters: WorkerCounters::new(),
            is_searching: AtomicBool::new(false),
            fruitless: AtomicU64::new(0),
            #[cfg(test)]
            transitions: transitions::Transitions::new(),
        }
    }

    /// Returns how many searches have found nothing.
    pub(crate) fn fruitless_searches(&self) -> u64 {
        self.fruitless.load(Relaxed)
    }

    /// Notes that another search begins, or none.
    fn next_search(&self, begins: bool) {
        if self.is_searching.swap(begins, Relaxed) {
            self.fruitless.fetch_add(1, Relaxed);
        }
    }
}

impl Observer for VirtualObserver {
    #[inline(always)]
    fn observe(&self, event: Event, clock: Clock) {
        match event {
            Event::Idle | Event::Sleep => self.next_search(false),
            Event::Search => self.next_search(true),
            Event::Job(_) => self.is_searching.store(false, Relaxed),
            _ => {}
        }
        #[cfg(test)]
        self.transitions.observe(event);
        self.counters.observe(event, clock);
    }

    fn snapshot(&self, clock: Clock) -> Option<WorkerSnapshot> {
        self.counters.snapshot(clock)
    }
}
