//! The spare threads of a pool, which become workers while the workers' own threads block.

use std::sync::{
    Arc, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

use crate::{
    platform::{LentWorker, Registry},
    sync::{Condvar, Mutex, lock},
    worker::thread::{Role, SpareStart, ThreadBuilder},
};

/// The spare threads of a pool, which become workers while the workers' own threads block.
///
/// A free spare waits in its [`Spare`]. A worker that blocks takes it out of the list, and puts it
/// back when the worker runs on its own thread again. So no two workers have the same spare, and
/// the list is long enough for all spares.
#[derive(Default)]
pub(crate) struct Spares {
    maximum: usize,
    settings: SpareSettings,
    state: Mutex<State>,
    /// How many threads wait to be each worker again. Empty if there are no spares.
    reclaims: Box<[AtomicUsize]>,
}

/// How spare threads are started.
#[derive(Default)]
pub(crate) struct SpareSettings {
    /// The names by number. Empty if the spares have no names.
    pub(crate) names: Vec<String>,
    pub(crate) stack_size: Option<usize>,
    /// Whether the pool starts a spare when it needs one. Otherwise all spares are started when the
    /// pool is built.
    pub(crate) on_demand: bool,
}

#[derive(Default)]
struct State {
    free: Vec<Arc<Spare>>,
    /// The numbers of the spares that may still be started on demand.
    unstarted: Vec<usize>,
    has_ended: bool,
}

impl Spares {
    /// Creates the spares of a pool with this number of workers.
    pub(crate) fn new(maximum: usize, num_workers: usize, settings: SpareSettings) -> Self {
        let state = State {
            unstarted: (0..maximum).rev().filter(|_| settings.on_demand).collect(),
            ..State::default()
        };
        let num_reclaims = if maximum == 0 { 0 } else { num_workers };
        Self {
            maximum,
            settings,
            state: Mutex::new(state),
            reclaims: (0..num_reclaims).map(|_| AtomicUsize::new(0)).collect(),
        }
    }

    /// Returns the maximum number of spares.
    pub(crate) fn maximum(&self) -> usize {
        self.maximum
    }

    /// Returns how many threads wait to be this worker again, because their closures have ended.
    pub(crate) fn num_reclaims(&self, worker: usize) -> usize {
        let count = self.reclaims.get(worker);
        count.map_or(0, |count| count.load(Ordering::Relaxed))
    }

    /// Counts a thread that waits to be this worker again.
    pub(crate) fn begin_reclaim(&self, worker: usize) {
        self.reclaims[worker].fetch_add(1, Ordering::Relaxed);
    }

    /// Stops counting a thread that waits to be this worker again.
    pub(crate) fn end_reclaim(&self, worker: usize) {
        self.reclaims[worker].fetch_sub(1, Ordering::Relaxed);
    }

    /// Takes a free spare, or starts one. Returns `None` if all are in use, if the system starts no
    /// more threads, or if the pool has ended.
    pub(crate) fn take(&self, registry: impl FnOnce() -> Arc<Registry>) -> Option<Arc<Spare>> {
        let mut state = lock(&self.state);
        if state.has_ended {
            return None;
        }
        while let Some(spare) = state.free.pop() {
            if !spare.is_gone() {
                return Some(spare);
            }
        }
        let number = state.unstarted.pop()?;
        let spare = Arc::new(Spare::default());
        // This is under the lock, so that the thread is counted before the pool can end.
        let thread = self.thread(&registry(), number, spare.clone(), SpareStart::Taken);
        drop(state);
        match thread.start() {
            Ok(()) => Some(spare),
            Err(_) => {
                // The next worker that blocks tries again.
                lock(&self.state).unstarted.push(number);
                None
            }
        }
    }

    /// Puts a used or new spare into the list. If the pool has ended, the spare ends.
    pub(crate) fn put_back(&self, spare: Arc<Spare>) {
        let mut state = lock(&self.state);
        if state.has_ended {
            spare.order(Order::End);
        } else {
            state.free.push(spare);
        }
    }

    /// Ends the spares that are free. Those in use end when they are put back.
    pub(crate) fn end(&self) {
        let mut state = lock(&self.state);
        state.has_ended = true;
        state.unstarted.clear();
        for spare in state.free.drain(..) {
            spare.order(Order::End);
        }
    }

    /// Returns the thread of a spare.
    pub(crate) fn thread(
        &self,
        registry: &Arc<Registry>,
        number: usize,
        spare: Arc<Spare>,
        start: SpareStart,
    ) -> ThreadBuilder {
        let name = self.settings.names.get(number).cloned();
        let role = Role::Spare {
            number,
            spare,
            start,
        };
        ThreadBuilder::new(registry, role, name, self.settings.stack_size)
    }
}

/// Where a spare thread waits for its orders.
#[derive(Default)]
pub(crate) struct Spare {
    inbox: Mutex<Inbox>,
    is_ordered: Condvar,
}

/// The last order to the thread of a spare.
#[derive(Default)]
enum Inbox {
    #[default]
    Empty,
    Ordered(Order),
    /// The thread takes no more orders, or never will take any.
    Gone,
}

enum Order {
    Run(LentWorker),
    End,
}

impl Spare {
    /// Makes the spare's thread act as this worker until the lender takes the worker back. If the
    /// thread is gone, the lender gets the worker back at once. Only the thread that has taken the
    /// spare may call this.
    pub(crate) fn give(&self, worker: LentWorker) {
        self.order(Order::Run(worker));
    }

    /// Gives the worker back to its lender, unless the spare's thread already acts as the worker.
    /// Only the thread that has taken the spare may call this.
    pub(crate) fn take_back(&self) {
        let mut inbox = lock(&self.inbox);
        if matches!(*inbox, Inbox::Ordered(Order::Run(_))) {
            let order = std::mem::take(&mut *inbox);
            drop(inbox);
            // Not under the lock, because this returns the worker.
            drop(order);
        }
    }

    fn order(&self, order: Order) {
        let mut inbox = lock(&self.inbox);
        if matches!(*inbox, Inbox::Gone) {
            drop(inbox);
            // Not under the lock, because this returns the worker.
            drop(order);
            return;
        }
        *inbox = Inbox::Ordered(order);
        drop(inbox);
        self.is_ordered.notify_one();
    }

    /// Records that the thread of the spare takes no more orders. If the thread has not taken its
    /// last order, the worker in that order goes back to its lender.
    pub(crate) fn mark_gone(&self) {
        let pending = std::mem::replace(&mut *lock(&self.inbox), Inbox::Gone);
        // The lock has been released.
        drop(pending);
    }

    fn is_gone(&self) -> bool {
        matches!(*lock(&self.inbox), Inbox::Gone)
    }

    /// Acts as one worker after another until the pool has ended. Calls `begin` for each, which
    /// must not panic.
    pub(crate) fn run(&self, mut begin: impl FnMut()) {
        while let Some(worker) = self.next_worker() {
            worker.run(&mut begin);
        }
    }

    fn next_worker(&self) -> Option<LentWorker> {
        // Liveness: an order is stored under the lock before the notification. A spare that is
        // taken gets a worker, or is put back; and one that is in the list gets its last order when
        // the pool ends. Only one order is ever outstanding, because a spare is put back when it
        // has returned its worker, or when the lender has taken the worker back. The lender in turn
        // waits for a thread that has taken the order, or that calls `go`: its `ThreadBuilder` does
        // so when it is dropped.
        let inbox = self
            .is_ordered
            .wait_while(lock(&self.inbox), |inbox| matches!(inbox, Inbox::Empty));
        let mut inbox = inbox.unwrap_or_else(PoisonError::into_inner);
        match std::mem::take(&mut *inbox) {
            Inbox::Ordered(Order::Run(worker)) => Some(worker),
            Inbox::Ordered(Order::End) => None,
            Inbox::Empty | Inbox::Gone => {
                unreachable!("waited for an order, before its thread goes")
            }
        }
    }
}

#[cfg(test)]
mod tests;
