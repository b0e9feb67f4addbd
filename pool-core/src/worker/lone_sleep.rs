//! How a worker says that it sleeps in an isolated wait, and how it is woken.
//!
//! Such a worker counts as active all the time, as one in a long job does. So no poster relies on
//! it, and the sleep protocol does not know that it waits. It sleeps on its parker, and says so in
//! a word of its own, [`LoneSleep`]; whatever wakes one worker looks there first:
//!
//! | it is woken by | who has written before | and looks after |
//! | --- | --- | --- |
//! | the thread that sets its latch | the latch, whose waiter sleeps | the exchange of the latch |
//! | a thread that gives it a job for it alone | its inbox | a sequentially consistent fence |
//! | a thread outside that spawns a job of its scope | the queue of the scope; a call | likewise |
//! | a worker that runs what it waits for, and queues a job | its own deque | likewise |
//!
//! The last of them follows the chain of thefts, see [`lineage`](super::lineage). So that it looks,
//! a worker disables the fast push of the others when it has said that it sleeps, and then searches
//! for the last time. No other job wakes it.

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
/// Beside one of the last two: the worker may run jobs of others.
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
        // Ordering: Release pairs with the Acquire of `answer_call`: the worker sees the job. An
        // exchange: a worker that sees a later call sees the job of this one, too.
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
            // Ordering: Acquire pairs with the Release of `call`. An exchange: if a later call
            // comes before it, the worker sees the job of that one too, and the call is answered.
            self.is_called.swap(false, Ordering::Acquire);
        }
    }

    /// Notes that the worker is about to sleep, and executes a fence. `awaits_jobs` says whether it
    /// may run jobs of others.
    pub(super) fn begin(&self, is_guest: bool, awaits_jobs: bool) {
        let sleeps = if is_guest { GUEST_SLEEPS } else { HOST_SLEEPS };
        let state = sleeps | if awaits_jobs { AWAITS_JOBS } else { 0 };
        // Ordering: Relaxed; the fence, and the exchange of the latch, come after it.
        self.state.store(state, Ordering::Relaxed);
        // Ordering: pairs with the fence of a thread that has given this worker a job for it alone,
        // or has queued a job of what it waits for. If that one comes first, we see the job. If
        // ours does, that thread sees that this worker sleeps. And with the fence of a worker that
        // enables its fast push: it sees that this worker sleeps, or we disable the fast push
        // again. Nothing weaker orders our store before our looks.
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
        // Ordering: Relaxed; it receives what it waits for in another way.
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
        // acquired the worker's sleep with the state of its latch.
        if self.state.load(Ordering::Relaxed) == AWAKE {
            return false;
        }
        // Ordering: AcqRel. One of several wakers gets the state, and passes on what it has
        // written, to a worker that finds itself awake before it has its token.
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
        shared.lone_sleep().wake(self.parker(worker))
    }

    /// Wakes the workers that sleep in isolated waits, and may run a job that is on a deque now.
    /// For a platform that has increased the number of workers [that make
    /// progress](Platform::parallelism), or that has seen a job wait.
    ///
    /// # Complexity
    /// Follows a chain of thefts for each worker that has jobs, if any worker sleeps so.
    pub fn wake_isolated_waiters(&self) {
        // Ordering: pairs with the fence of a worker that sleeps in an isolated wait. If that one
        // comes first, we see that it sleeps. If ours does, it sees the jobs. Nothing weaker orders
        // what the caller has seen before our look.
        fence(Ordering::SeqCst);
        self.wake_waiters_with_jobs();
    }

    /// Does so for a caller that has executed such a fence.
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

    /// Wakes the workers that sleep while they wait, in isolation, for what this worker runs.
    fn wake_awaiting(&self, worker: WorkerIndex) {
        self.find_awaiting(worker, |waiter| {
            self.wake_lone_sleeper(waiter);
            // Go on with the next one.
            false
        });
    }

    /// Calls `holds` with each such worker, until it returns true. Returns whether it did.
    ///
    /// Compares no positions. A worker that waits for what it has pushed later than the stolen job
    /// is among them, and may be woken in vain.
    fn find_awaiting(
        &self,
        worker: WorkerIndex,
        mut holds: impl FnMut(WorkerIndex) -> bool,
    ) -> bool {
        let mut theft = self.workers()[worker.get()].lineage().theft();
        // What others publish changes meanwhile, so the steps might go round in a circle.
        for _ in 0..self.num_workers() {
            let Some(victim) = theft.and_then(|it| self.worker(it.victim).ok()) else {
                break;
            };
            let shared = &self.workers()[victim.get()];
            if shared.lone_sleep().awaits_jobs() && holds(victim) {
                return true;
            }
            theft = shared.lineage().theft();
        }
        false
    }

    /// Tells a worker that [waits in isolation](crate::ScopeCore::isolated_waiter) for a scope,
    /// or will, that a job of the scope was queued where it
    /// [looks](crate::ScopeCore::run_taking) during that wait. It does not overlook the
    /// job.
    ///
    /// Call this after queueing.
    pub fn call_isolated_waiter(&self, worker: WorkerIndex) {
        no_unwind(|| {
            self.workers()[worker.get()].lone_sleep().call();
            // Ordering: pairs with the fence of a worker that sleeps in an isolated wait. If that
            // one comes first, we see that it sleeps. If ours does, it sees that it was called.
            // Nothing weaker orders the call before our look.
            fence(Ordering::SeqCst);
            self.wake_lone_sleeper(worker);
        });
    }
}

impl<P: Platform> WorkerThread<P> {
    /// Whether a worker sleeps that waits, in isolation, for what this worker runs. It may run what
    /// this one queues.
    ///
    /// For a poster that has executed a fence since it queued a job.
    #[inline]
    pub(crate) fn is_awaited_asleep(&self) -> bool {
        let registry = self.registry();
        registry.lone_sleepers() > 0 && registry.find_awaiting(self.index(), |_| true)
    }

    /// Wakes the workers that sleep while they wait, in isolation, for what this worker runs. For a
    /// poster, as above.
    #[cold]
    pub(crate) fn wake_awaiting(&self) {
        let registry = self.registry();
        if registry.lone_sleepers() > 0 {
            registry.wake_awaiting(self.index());
        }
    }
}
