//! How a worker says that it sleeps in an isolated wait, and how it is woken.
//!
//! Such a worker counts as active all the time, like a worker in a long job. So no poster relies on
//! it, and the sleep protocol does not know that it waits. It sleeps on its parker, and says so in
//! a word of its own, [`LoneSleep`]; whatever wakes one worker looks there first:
//!
//! | waker | what it writes first | what comes before its look |
//! | --- | --- | --- |
//! | the thread that sets its latch | the latch, whose waiter sleeps | the exchange of the latch |
//! | a thread that gives it a job that only it may run | its inbox | a `SeqCst` fence |
//! | a thread outside that spawns a job of its scope | the queue of the scope; a call | likewise |
//! | a worker that runs what it waits for, and queues a job | its own deque | likewise |
//!
//! The last of these wakers follows the chain of thefts, see [`lineage`](super::lineage). To make
//! it look, a worker that has said that it sleeps disables the fast push of the others, and then
//! searches for the last time. No other job wakes the worker.

use sleep_core::WorkerIndex;

use crate::{
    platform::Platform,
    primitive::{AtomicBool, AtomicU8, Ordering, fence},
    registry::Registry,
    unwind::no_unwind,
    worker::WorkerThread,
};

/// Whether a worker sleeps in an isolated wait, and which token it waits for.
pub(crate) struct LoneSleep {
    state: AtomicU8,
    /// Whether a job was spawned, in a scope for which this worker waits now or later, since it
    /// last looked for such jobs.
    is_called: AtomicBool,
}

const AWAKE: u8 = 0;
const HOST_SLEEPS: u8 = 1;
const GUEST_SLEEPS: u8 = 2;
/// A bit beside one of the last two: the worker may run jobs of other workers.
const AWAITS_JOBS: u8 = 4;

impl LoneSleep {
    const_unless_loom! {
        /// Creates the word of a worker that is awake.
        pub(super) fn new() -> Self {
            Self { state: AtomicU8::new(AWAKE), is_called: AtomicBool::new(false) }
        }
    }

    /// Notes that a job was spawned that the worker may take.
    pub(super) fn call(&self) {
        // Ordering: Release pairs with the Acquire of `answer_call`: the worker sees the job. This
        // is an exchange, so that a worker that sees a later call also sees the job of this one.
        self.is_called.swap(true, Ordering::Release);
    }

    /// Whether the worker was called since it last looked.
    pub(super) fn is_called(&self) -> bool {
        // Ordering: Relaxed. A worker looks after the fence of `begin`. For any other thread, the
        // answer may be out of date on return.
        self.is_called.load(Ordering::Relaxed)
    }

    /// Ends the call, before the worker looks for the job.
    pub(super) fn answer_call(&self) {
        if self.is_called() {
            // Ordering: Acquire pairs with the Release of `call`. This is an exchange: if a later
            // call comes before it, the worker also sees the job of that call, which is then
            // answered.
            self.is_called.swap(false, Ordering::Acquire);
        }
    }

    /// Notes that the worker is about to sleep, and executes a fence. `awaits_jobs` says whether
    /// the worker may run jobs of other workers.
    pub(super) fn begin(&self, is_guest: bool, awaits_jobs: bool) {
        let sleeps = if is_guest { GUEST_SLEEPS } else { HOST_SLEEPS };
        let state = sleeps | if awaits_jobs { AWAITS_JOBS } else { 0 };
        // Ordering: Relaxed; the fence, and the exchange of the latch, come after it.
        self.state.store(state, Ordering::Relaxed);
        // Ordering: pairs with the fence of a thread that has given this worker a job for it alone,
        // or has queued a job of what it waits for. If that one comes first, we see the job. If
        // ours does, that thread sees that this worker sleeps. It also pairs with the fence of a
        // worker that enables its fast push: that worker sees that this one sleeps, or we disable
        // the fast push again. Nothing weaker orders our store before our looks.
        fence(Ordering::SeqCst);
    }

    /// Whether the worker sleeps, and may run jobs of others. For a thread that has executed a
    /// fence since it queued a job.
    pub(super) fn awaits_jobs(&self) -> bool {
        // Ordering: Relaxed, after that fence.
        self.state.load(Ordering::Relaxed) & AWAITS_JOBS != 0
    }

    /// Notes that the worker does not sleep after all.
    pub(super) fn cancel(&self) {
        // Ordering: Relaxed; the worker receives what it waits for in another way.
        self.state.store(AWAKE, Ordering::Relaxed);
    }

    /// Whether the worker has not been woken yet.
    pub(super) fn lasts(&self) -> bool {
        // Ordering: Acquire pairs with the exchange of `wake`: what the waker has written is
        // visible.
        self.state.load(Ordering::Acquire) != AWAKE
    }

    /// Wakes the worker if it sleeps here. Returns whether it did.
    fn wake(&self, parker: &impl sleep_core::Parker) -> bool {
        // Ordering: Relaxed. The caller has executed a fence since it gave the worker a job, or has
        // acquired this word with the state of the worker's latch.
        if self.state.load(Ordering::Relaxed) == AWAKE {
            return false;
        }
        // Ordering: AcqRel. Only one of several wakers gets the state. It publishes what it has
        // written to a worker that finds itself awake before it has received its token.
        match self.state.swap(AWAKE, Ordering::AcqRel) & !AWAITS_JOBS {
            HOST_SLEEPS => parker.unpark(),
            GUEST_SLEEPS => parker.unpark_guest(),
            _ => return false,
        }
        true
    }
}

impl<P: Platform> Registry<P> {
    /// Wakes a worker that sleeps in an isolated wait. Returns false if it does not.
    pub(crate) fn wake_lone_sleeper(&self, worker: WorkerIndex) -> bool {
        let shared = &self.workers()[worker.get()];
        shared.lone_sleep.wake(self.parker(worker))
    }

    /// Wakes the workers that sleep in isolated waits and may run a job that is on a deque now. For
    /// a platform that has increased the number of workers [that make
    /// progress](Platform::parallelism), or that has seen a job wait.
    ///
    /// # Complexity
    /// Follows a chain of thefts for each worker that has jobs, if any worker sleeps in an isolated
    /// wait.
    pub fn wake_isolated_waiters(&self) {
        // Ordering: pairs with the fence of a worker that sleeps in an isolated wait. If that one
        // comes first, we see that it sleeps. If ours does, it sees the jobs. Nothing weaker orders
        // what the caller has seen before our look.
        fence(Ordering::SeqCst);
        self.wake_waiters_with_jobs();
    }

    /// Does what [`wake_isolated_waiters`](Self::wake_isolated_waiters) does, for a caller that has
    /// already executed such a fence.
    pub(crate) fn wake_waiters_with_jobs(&self) {
        if self.lone_sleepers() == 0 {
            return;
        }
        self.any_awake_deque(None, 0, |worker, deque| {
            if !deque.is_empty()
                && let Ok(worker) = self.worker(worker)
            {
                self.wake_awaiting(worker);
            }
            false
        });
    }

    /// Wakes the workers that sleep while they wait, in isolation, for what `worker` runs.
    fn wake_awaiting(&self, worker: WorkerIndex) {
        self.find_awaiting(worker, |waiter| {
            self.wake_lone_sleeper(waiter);
            // Go on with the next one.
            false
        });
    }

    /// Calls `holds` with each worker that sleeps while it waits, in isolation, for what `worker`
    /// runs, until `holds` returns true. Returns whether it did.
    ///
    /// Does not compare positions. So a worker that waits only for what it has pushed after the
    /// stolen job is among them, and may be woken in vain.
    fn find_awaiting(
        &self,
        worker: WorkerIndex,
        mut holds: impl FnMut(WorkerIndex) -> bool,
    ) -> bool {
        let mut theft = self.workers()[worker.get()].lineage.theft();
        // What others publish changes meanwhile, so the steps might go in a circle.
        for _ in 0..self.num_workers() {
            let Some(victim) = theft.and_then(|it| self.worker(it.victim).ok()) else {
                break;
            };
            let shared = &self.workers()[victim.get()];
            if shared.lone_sleep.awaits_jobs() && holds(victim) {
                return true;
            }
            theft = shared.lineage.theft();
        }
        false
    }

    /// Tells a worker that [waits in isolation](crate::ScopeCore::isolated_waiter) for a scope, or
    /// will do so, that a job of the scope was queued where it
    /// [looks](crate::ScopeCore::run_taking) during that wait. The worker does not overlook the
    /// job.
    ///
    /// Call this after queueing.
    pub fn call_isolated_waiter(&self, worker: WorkerIndex) {
        no_unwind(|| {
            self.workers()[worker.get()].lone_sleep.call();
            // Ordering: pairs with the fence of a worker that sleeps in an isolated wait. If that
            // one comes first, we see that it sleeps. If ours does, it sees that it was called.
            // Nothing weaker orders the call before our look.
            fence(Ordering::SeqCst);
            self.wake_lone_sleeper(worker);
        });
    }
}

impl<P: Platform> WorkerThread<P> {
    /// Whether a sleeping worker waits, in isolation, for what this worker runs. That worker may
    /// run what this one queues.
    ///
    /// For a poster that has executed a fence since it queued a job.
    #[inline]
    pub(crate) fn is_awaited_asleep(&self) -> bool {
        let registry = self.registry();
        registry.lone_sleepers() > 0
            && (self.shared().is_lone_sleeper() || registry.find_awaiting(self.index(), |_| true))
    }

    /// Wakes the workers that sleep while they wait, in isolation, for what this worker runs. For a
    /// poster that has executed a fence since it queued a job.
    #[cold]
    pub(crate) fn wake_awaiting(&self) {
        let registry = self.registry();
        if registry.lone_sleepers() > 0 {
            // This worker itself, if its own parker has queued the job in the middle of such a
            // sleep.
            registry.wake_lone_sleeper(self.index());
            registry.wake_awaiting(self.index());
        }
    }
}
