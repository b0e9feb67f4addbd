//! Which workers of a pool are active, and where the others are parked.

use std::sync::{
    PoisonError,
    atomic::{AtomicUsize, Ordering},
};

use pool_core::WorkerIndex;

use crate::{
    blocking::{handlers::is_in_handler, mutex::WAITED_FOR_ITSELF},
    panics::abort_with,
    platform::{Registry, WorkerThread},
    sync::{Condvar, Mutex, lock},
    thread_pool::error::ActiveWorkersError,
};

/// Which workers of a pool are active, and where the others are parked.
///
/// | event | what it does under the lock | which thread does it |
/// | --- | --- | --- |
/// | park | finds the worker unwanted and its inbox empty; the worker leaves | its own |
/// | set | changes the count; stops the workers above it, revives those below it | any |
/// | broadcast | has queued its jobs; revives every parked worker | any |
/// | end | notes the end; revives every parked worker | the one that removes the last reference |
///
/// No revival is lost. A worker decides to park under the lock, and what it looks at is changed
/// before the other thread takes the lock. If the change comes first, the worker sees it and does
/// not park. Otherwise the other thread finds the worker parked.
///
/// No request to stop is lost either. The worker resets its latch before it looks at the count. If
/// the count changes after that look, the request sets the latch after the reset, so the worker
/// returns from its next wait and looks again.
///
/// A parked worker has left the pool in every respect: its [`WorkerThread`] is dropped, so it is
/// absent from thread progress, from the sleep protocol and from the metrics. It has run the jobs
/// on its deque before, and thieves take what may still be there.
#[derive(Default)]
pub(crate) struct ActiveWorkers {
    state: Mutex<State>,
    /// The count of the state, for readers without the lock.
    count: AtomicUsize,
    /// One per worker. Notified when the worker is revived.
    revived: Box<[Condvar]>,
}

#[derive(Default)]
struct State {
    /// The workers below this number are wanted.
    count: usize,
    /// Whether each worker has left, and its thread waits to be revived.
    is_parked: Box<[bool]>,
    has_ended: bool,
}

impl ActiveWorkers {
    /// Creates the state of a pool with this number of workers.
    ///
    /// # Errors
    /// [`ActiveWorkersError`] if `count` is 0 or above `maximum`.
    pub(crate) fn new(count: usize, maximum: usize) -> Result<Self, ActiveWorkersError> {
        check(count, maximum)?;
        Ok(Self {
            state: Mutex::new(State {
                count,
                is_parked: vec![false; maximum].into(),
                has_ended: false,
            }),
            count: AtomicUsize::new(count),
            revived: (0..maximum).map(|_| Condvar::new()).collect(),
        })
    }

    /// Returns how many workers are wanted.
    pub(crate) fn count(&self) -> usize {
        // Ordering: Relaxed. A worker that asks for `Crowd::parallelism` executes a fence before,
        // which pairs with that of `Registry::reconsider_wakes`: it sees a smaller number, or `set`
        // makes it ask again. Elsewhere the number is only shown.
        self.count.load(Ordering::Relaxed)
    }

    /// Changes how many workers are wanted, and returns how many were before.
    ///
    /// # Errors
    /// [`ActiveWorkersError`] if `count` is 0 or above the number of workers, or in a handler.
    pub(crate) fn set(
        &self,
        registry: &Registry,
        count: usize,
    ) -> Result<usize, ActiveWorkersError> {
        check(count, self.revived.len())?;
        if is_in_handler() {
            return Err(ActiveWorkersError::InHandler);
        }
        let mut state = lock(&self.state);
        let before = std::mem::replace(&mut state.count, count);
        // Ordering: Relaxed, see `count`.
        self.count.store(count, Ordering::Relaxed);
        for index in count..before {
            // A worker that is parked, or not there yet, forgets the request before it next waits.
            registry.request_stop(registry.worker(index).expect("below the maximum"));
        }
        for index in before..count {
            self.revive(registry, &mut state, index);
        }
        drop(state);
        if count < before {
            // The others rely on fewer workers, see `Crowd::parallelism`.
            registry.reconsider_wakes();
            registry.wake_isolated_waiters();
        }
        Ok(before)
    }

    /// Revives each parked worker after a job was queued in its inbox. Not in a deadlock handler of
    /// the pool.
    pub(crate) fn revive_for_inboxes(&self, registry: &Registry) {
        self.revive_all(registry, &mut lock(&self.state));
    }

    /// Revives each parked worker because the pool has ended, and lets no worker park any more.
    ///
    /// In a deadlock handler of the pool it aborts the process. The handler runs under the lock of
    /// the accounting, and perhaps under the one here, and another thread may hold one and wait
    /// for the other.
    pub(crate) fn end(&self, registry: &Registry) {
        if registry.data().reporting.is_here() {
            abort_with(WAITED_FOR_ITSELF);
        }
        let mut state = lock(&self.state);
        state.has_ended = true;
        self.revive_all(registry, &mut state);
    }

    fn revive_all(&self, registry: &Registry, state: &mut State) {
        for index in 0..self.revived.len() {
            self.revive(registry, state, index);
        }
    }

    fn revive(&self, registry: &Registry, state: &mut State, index: usize) {
        if std::mem::take(&mut state.is_parked[index]) {
            let worker = registry.worker(index).expect("below the maximum");
            // It counts before it runs, so that the caller may block after this.
            registry.deadlock().arrive(worker);
            if let Some(membership) = &registry.data().turns {
                membership.turns.mark_ready(membership.member(worker));
            }
            self.revived[index].notify_one();
        }
    }

    /// Returns what a worker that is between jobs does next. If the answer is [`NextStep::Park`],
    /// this thread is no longer the worker, and calls
    /// [`wait_until_revived`](Self::wait_until_revived).
    ///
    /// # Safety
    /// 1. The thread has [entered](WorkerThread::enter) the worker, which stays in place until it
    ///    leaves.
    pub(crate) unsafe fn next_step(&self, worker: &WorkerThread) -> NextStep {
        let step = lock(&self.state).next_step(worker);
        if step != NextStep::Park {
            return step;
        }
        // Not under the lock, because thread progress and the handlers of the pool may call
        // closures of the user.
        worker.notify_leftovers();
        worker.leave_counted();
        let mut state = lock(&self.state);
        let step = state.next_step(worker);
        if step == NextStep::Park {
            state.is_parked[worker.index().get()] = true;
            // Under the lock, so that a broadcast whose job the worker has not seen finds it
            // absent, and counts it again before the broadcast returns. Otherwise the worker could
            // be missing when the others block or sleep, and be reported with them.
            //
            // This can call a deadlock handler, which must not take the lock: see `end`, `set` and
            // the caller of `revive_for_inboxes`.
            worker.registry().mark_absent(worker.index());
        } else {
            drop(state);
            // SAFETY: 1. forwarded to our caller, which has entered it before.
            unsafe { worker.enter() };
        }
        step
    }

    /// Blocks until the worker is wanted, has a job in its inbox, or the pool has ended.
    pub(crate) fn wait_until_revived(&self, worker: WorkerIndex) {
        let index = worker.get();
        let state = lock(&self.state);
        // Liveness: the thread that revives the worker clears the flag under the lock and notifies
        // after that. It cannot have done so too early, since the worker has set the flag under the
        // lock when there was no reason to revive it; see above for each reason. A pool that ends
        // revives all.
        let state = self.revived[index].wait_while(state, |state| state.is_parked[index]);
        drop(state.unwrap_or_else(PoisonError::into_inner));
    }
}

impl State {
    fn next_step(&self, worker: &WorkerThread) -> NextStep {
        if worker.index().get() < self.count {
            NextStep::Run
        } else if worker.has_inbox_jobs() || self.has_ended {
            NextStep::LookAgain
        } else {
            NextStep::Park
        }
    }
}

/// What a worker that is between jobs does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NextStep {
    /// It runs jobs until it is requested to stop.
    Run,
    /// It is not wanted, but there are jobs that it alone may run, or the pool has ended.
    LookAgain,
    /// It is parked.
    Park,
}

fn check(requested: usize, maximum: usize) -> Result<(), ActiveWorkersError> {
    if (1..=maximum).contains(&requested) {
        Ok(())
    } else {
        Err(ActiveWorkersError::OutOfRange { requested, maximum })
    }
}
