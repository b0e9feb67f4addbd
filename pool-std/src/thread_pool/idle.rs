//! Waiting until a pool has nothing to do.

use std::sync::PoisonError;

use pool_core::SpinLatch;

use crate::{
    fork,
    limit::Limit,
    platform::{Registry, Std, WorkerThread},
    sync::{Condvar, Mutex, lock},
    thread_pool::threads::FrameLatch,
};

/// The maximum number of references to an idle pool: its owner's, and the one that all waiting
/// threads share.
const IDLE_REFERENCES: usize = 2;

/// Where threads wait until a pool has nothing to do.
///
/// # When a pool is idle
///
/// Each spawned job has a reference to the pool, from before it is queued until it has ended, and
/// so has each call from outside. A job that spawns another one adds that reference while its own
/// counts. So the count comes down to the owner's reference only when there is no job, and no job
/// can bring another one into being. This is one moment, because the count is one word. A worker
/// that runs jobs may keep the references of some that have ended. It removes them before it looks
/// for jobs beyond its deque. Jobs of a join or a scope need no references: they end before the job
/// or the call whose frame waits for them.
///
/// # How a thread waits
///
/// The count is [watched](Registry::watch) while threads wait, and only then does a thread that
/// removes a reference check this state. All waiting threads share one reference, so that the pool
/// cannot end meanwhile.
///
/// | event | what it does under the lock | which thread does it |
/// | --- | --- | --- |
/// | wait | watches; if the pool is not idle, notes the round or is listed | one that waits |
/// | the end of a limited wait | nothing; the watch stays | one that waits |
/// | removal | if the pool is idle, ends the watch and wakes all that wait | one that has left |
/// | disown | notes that the owner's reference does not count any more | the owner |
///
/// No thread waits in vain. It looks at the count after it has begun to watch, under the lock. A
/// removal that comes first is counted. One that comes later finds the pool watched, and takes the
/// lock when the thread is listed or has noted the round. A thread that finds more references than
/// those of an idle pool leaves the list to the removal of the others.
///
/// No thread returns too early: the count is looked at under the lock when the thread is on the
/// list, so the pool is idle at a moment of its own call.
#[derive(Default)]
pub(crate) struct Idle {
    state: Mutex<State>,
    is_idle: Condvar,
}

#[derive(Default)]
struct State {
    /// Whether the owner's reference was removed.
    is_disowned: bool,
    /// Whether threads wait. They have a reference.
    is_watched: bool,
    /// The number of times that the waiting threads were woken.
    round: u64,
    /// The latches of the waiting workers.
    latches: Vec<FrameLatch>,
}

impl State {
    /// Whether there are no references but those of an idle pool that is watched.
    fn is_idle(&self, registry: &Registry) -> bool {
        registry.num_references() == IDLE_REFERENCES - usize::from(self.is_disowned)
    }

    /// Ends the watch. The caller then removes the reference.
    fn unwatch(&mut self, registry: &Registry) {
        self.is_watched = false;
        self.round += 1;
        registry.unwatch();
    }
}

impl Idle {
    /// Waits until the pool has nothing to do, or has ended. A worker runs jobs of its own pool
    /// meanwhile. A worker of this pool must not be in a job.
    pub(crate) fn wait(&self, registry: &Registry) {
        // SAFETY: 1. this thread stays the worker until the call returns.
        match unsafe { WorkerThread::current() } {
            Some(worker) => self.work(registry, worker),
            None => {
                let Some(round) = self.begin(registry, None) else {
                    return;
                };
                registry.data().handlers.runnable.around_wait(|| {
                    // Liveness: see above; the thread that changes the round does so under the
                    // lock, and notifies after that.
                    let state = lock(&self.state);
                    let state = self.is_idle.wait_while(state, |state| state.round == round);
                    drop(state.unwrap_or_else(PoisonError::into_inner));
                });
            }
        }
    }

    /// Waits as [`wait`](Self::wait) does, but no longer than the limit. Returns whether the pool
    /// was idle. If not, the watch continues until it is, and keeps nothing of this thread.
    pub(crate) fn wait_for(&self, registry: &Registry, limit: Limit) -> bool {
        // SAFETY: 1. this thread stays the worker until the call returns.
        let worker = unsafe { WorkerThread::current() };
        let Some(round) = self.begin(registry, None) else {
            return true;
        };
        if let Some(worker) = worker {
            // An adopted thread may be the only worker, also of a pool whose waits are isolated.
            let is_own = std::ptr::eq(worker.registry(), registry);
            let run_one = match is_own {
                true => WorkerThread::yield_now,
                false => WorkerThread::help,
            };
            // In a child, another thread of the parent may have had the lock.
            return limit.poll(Some(worker), run_one, || {
                fork::is_own_process(registry) && lock(&self.state).round != round
            });
        }
        registry.data().handlers.runnable.around_wait(|| {
            // Liveness: as in `wait`, and the time ends.
            let state = lock(&self.state);
            let waited = self
                .is_idle
                .wait_timeout_while(state, limit.remaining(), |state| state.round == round);
            let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
            state.round != round
        })
    }

    fn work(&self, registry: &Registry, worker: &WorkerThread) {
        let latch = SpinLatch::cross(worker);
        if self.begin(registry, Some(&latch)).is_none() {
            return;
        }
        // Liveness: as for a thread outside the pool. The latch stays in this frame, which a panic
        // cannot leave: the waits let none through.
        if std::ptr::eq(worker.registry(), registry) {
            // The jobs of this pool set the latch, so the worker counts as asleep when they are all
            // blocked.
            worker.wait_for_all_jobs(latch.core());
        } else {
            worker.wait_for_outside(latch.core());
        }
    }

    /// Begins to wait. Returns the round, or `None` if the pool is idle or has ended.
    fn begin(&self, registry: &Registry, latch: Option<&SpinLatch<'_, Std>>) -> Option<u64> {
        let mut state = lock(&self.state);
        if !state.is_watched {
            if !registry.try_add_reference() {
                // What was done under any reference is visible from here on.
                let _has_ended = !registry.has_references();
                return None;
            }
            registry.watch();
            state.is_watched = true;
        } else if state.is_idle(registry) {
            // The thread that has removed the last reference is about to wake the others.
            return None;
        }
        if state.is_idle(registry) {
            state.unwatch(registry);
            drop(state);
            registry.remove_reference();
            return None;
        }
        state.latches.extend(latch.map(FrameLatch::new));
        Some(state.round)
    }

    /// Wakes the threads that wait if the pool is idle. Only while it is watched, for the thread
    /// that has removed a reference.
    #[cold]
    pub(crate) fn on_reference_removed(&self, registry: &Registry) {
        // Without the lock: while there are many jobs, they do not wait for each other here.
        if registry.num_references() > IDLE_REFERENCES {
            return;
        }
        let mut state = lock(&self.state);
        if !state.is_watched || !state.is_idle(registry) {
            return;
        }
        state.unwatch(registry);
        let latches = std::mem::take(&mut state.latches);
        drop(state);
        self.is_idle.notify_all();
        for latch in latches {
            // SAFETY: 1. it was taken out of the only list, and its frame waits.
            unsafe { latch.set() };
        }
        registry.remove_reference();
    }

    /// Whether the owner has given the pool up.
    pub(crate) fn is_disowned(&self) -> bool {
        lock(&self.state).is_disowned
    }

    /// Removes the owner's reference, the first time.
    pub(crate) fn disown(&self, registry: &Registry) {
        let was_disowned = std::mem::replace(&mut lock(&self.state).is_disowned, true);
        if !was_disowned {
            registry.remove_reference();
        }
    }
}
