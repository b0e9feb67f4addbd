//! What each worker counts: what a pool counts anyway, and its fruitless searches.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use pool_core::{Observer, WorkerCounters, WorkerSnapshot};

/// The type of a clock, as observers get it.
type Clock = fn() -> Option<u64>;

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
}

impl VirtualObserver {
    pub(crate) fn new() -> Self {
        Self {
            counters: WorkerCounters::new(),
            is_searching: AtomicBool::new(false),
            fruitless: AtomicU64::new(0),
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
    fn on_enter(&self, clock: Clock) {
        self.counters.on_enter(clock);
    }

    fn on_leave(&self, clock: Clock) {
        self.counters.on_leave(clock);
    }

    fn on_idle(&self, clock: Clock) {
        self.next_search(false);
        self.counters.on_idle(clock);
    }

    fn on_active(&self, clock: Clock) {
        self.counters.on_active(clock);
    }

    fn on_sleep(&self, clock: Clock) {
        self.next_search(false);
        self.counters.on_sleep(clock);
    }

    fn on_wake(&self, clock: Clock) {
        self.counters.on_wake(clock);
    }

    fn on_fruitless_wake(&self) {
        self.counters.on_fruitless_wake();
    }

    fn on_job(&self) {
        self.is_searching.store(false, Relaxed);
        self.counters.on_job();
    }

    fn on_post(&self) {
        self.counters.on_post();
    }

    fn on_deque_full(&self) {
        self.counters.on_deque_full();
    }

    fn on_search(&self) {
        self.next_search(true);
        self.counters.on_search();
    }

    fn on_steal_attempt(&self) {
        self.counters.on_steal_attempt();
    }

    fn on_steal(&self) {
        self.counters.on_steal();
    }

    fn on_steal_retry(&self) {
        self.counters.on_steal_retry();
    }

    fn on_revocation(&self) {
        self.counters.on_revocation();
    }

    fn snapshot(&self, clock: Clock) -> Option<WorkerSnapshot> {
        self.counters.snapshot(clock)
    }
}
