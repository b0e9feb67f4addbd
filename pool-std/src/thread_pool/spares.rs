//! The spare threads of a pool, which become workers while the workers' own threads block.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

use crate::{
    platform::{LentWorker, Registry},
    thread_pool::data::lock,
    worker::thread::{Role, SpareStart, ThreadBuilder},
};

/// The spare threads of a pool, which become workers while the workers' own threads block.
///
/// A spare that is free waits in its [`Spare`]. The worker that blocks takes it out of the list, and puts it
/// back when it has its place again. So no two workers have the same spare, and the list is
/// long enough for all of them.
#[derive(Default)]
pub(crate) struct Spares {
    maximum: usize,
    settings: SpareSettings,
    state: Mutex<State>,
}

/// How spare threads are started.
#[derive(Default)]
pub(crate) struct SpareSettings {
    /// By number; empty without names.
    pub(crate) names: Vec<String>,
    pub(crate) stack_size: Option<usize>,
    /// Whether the pool starts a thread when it needs one. Otherwise all are started when it is built.
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
    pub(crate) fn new(maximum: usize, settings: SpareSettings) -> Self {
        let state = State {
            unstarted: (0..maximum).rev().filter(|_| settings.on_demand).collect(),
            ..State::default()
        };
        Self {
            maximum,
            settings,
            state: Mutex::new(state),
        }
    }

    /// Returns how many spares there can be.
    pub(crate) fn maximum(&self) -> usize {
        self.maximum
    }

    /// Takes a free spare, or starts one. Returns `None` if all are in use, if the system starts no more
    /// threads, or if the pool has ended.
    pub(crate) fn take(&self, registry: impl FnOnce() -> Arc<Registry>) -> Option<Arc<Spare>> {
        let mut state = lock(&self.state);
        if state.has_ended {
            return None;
        }
        if let Some(spare) = state.free.pop() {
            return Some(spare);
        }
        let number = state.unstarted.pop()?;
        drop(state);
        let spare = Arc::new(Spare::default());
        let thread = self.thread(&registry(), number, SpareStart::Taken(spare.clone()));
        match thread.start() {
            Ok(()) => Some(spare),
            Err(_) => {
                // The next worker that blocks tries again.
                lock(&self.state).unstarted.push(number);
                None
            }
        }
    }

    /// Gives a spare back after its use, or a new one. If the pool has ended, the spare ends.
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
        start: SpareStart,
    ) -> ThreadBuilder {
        let name = self.settings.names.get(number).cloned();
        let role = Role::Spare(number, start);
        ThreadBuilder::new(registry, role, name, self.settings.stack_size)
    }
}

/// Where a spare thread waits for what it is to do.
#[derive(Default)]
pub(crate) struct Spare {
    order: Mutex<Option<Order>>,
    is_ordered: Condvar,
}

enum Order {
    Run(LentWorker),
    End,
}

impl Spare {
    /// Makes the spare a worker until the worker is to be returned. Only for the thread that has taken the
    /// spare.
    pub(crate) fn give(&self, worker: LentWorker) {
        self.order(Order::Run(worker));
    }

    fn order(&self, order: Order) {
        *lock(&self.order) = Some(order);
        self.is_ordered.notify_one();
    }

    /// Is one worker after the other, until the pool has ended.
    pub(crate) fn run(&self) {
        while let Some(worker) = self.next_worker() {
            worker.run();
        }
    }

    fn next_worker(&self) -> Option<LentWorker> {
        // Liveness: an order is stored under the lock before the notification. A spare that is taken
        // gets a worker, or is put back; and one that is in the list gets its last order when the pool
        // ends. Only one order is ever outstanding, because a spare is put back when it has returned
        // its worker.
        let order = self
            .is_ordered
            .wait_while(lock(&self.order), |order| order.is_none());
        let order = order.unwrap_or_else(PoisonError::into_inner).take();
        match order.expect("waited for it") {
            Order::Run(worker) => Some(worker),
            Order::End => None,
        }
    }
}
