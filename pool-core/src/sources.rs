//! All sources of work, in one place.
//!
//! | source | taken from | takers |
//! | --- | --- | --- |
//! | urgent jobs from outside | front | every worker |
//! | own deque | the end that its order names | its worker |
//! | inbox (broadcasts) | front | its worker |
//! | other workers' deques | oldest first | every worker |
//! | injector: other jobs from outside | front | every worker |
//! | background jobs from outside | front | every worker |
//! | operations that are due | about in the order in which they became due | every worker |
//!
//! A worker searches in the order of the table, and from time to time out of that order, so that no
//! job waits without end behind others: see [`FairLooks`].
//!
//! A worker in an [isolated](crate::isolation) wait does not search here: it takes what it has
//! pushed itself, what threads outside have spawned in the scope that it waits for, its inbox, and
//! from other workers' deques what descends from what it waits for. It counts as active, so that no
//! poster relies on it for the other sources, and wakes another worker for what it leaves
//! (`worker/isolated.rs`).
//!
//! A protocol may wake a worker with a hint, which says in which of these the work is. The worker
//! looks there once, after the urgent jobs and its own queues.
//!
//! A sleeping worker overlooks a queue that is not listed here (rayon#992). So
//! [`find_work`](WorkerThread::find_work) and
//! [`check_sources_before_sleep`](WorkerThread::check_sources_before_sleep) must cover the same
//! sources, except its own deque, which is empty by then.

use deque_core::Steal;
use sleep_core::{Hint, WorkerIndex};

use crate::{
    metrics::{Event, Observer as _},
    platform::Platform,
    primitive::{Ordering, fence, spin_loop},
    queue::JobQueue,
    registry::Registry,
    retries::Retries,
    worker::{WorkerThread, lineage::Found},
};

mod fair_looks;
mod stealing;
#[cfg(all(test, not(loom)))]
mod tests;

pub(crate) use fair_looks::{FairLooks, OwnTurn};
pub(crate) use stealing::{LastSource, Source};

/// In a pool of more workers than this, a worker that last found a job in another worker's deque
/// searches once before it counts as idle.
///
/// Most workers that take short jobs from each other find one in their first search. The counts
/// share one cache line, for which that many workers would queue: in the simulator, a region of
/// short jobs on 256 workers takes 275 us, instead of 331 us if each search is counted. Smaller
/// pools gain nothing, and each extra fruitless search costs time.
const MANY_WORKERS: usize = 64;

/// What a worker finds in its last look before it sleeps.
pub(crate) struct LastLook {
    /// A source holds work for the worker.
    pub(crate) has_work: bool,
    /// Whether other workers that have fallen asleep may rely on this worker to see a job in a
    /// deque and to announce it.
    pub(crate) must_announce: bool,
    /// The worker has operations of its own, which it must leave to the pool before it sleeps. It
    /// does so when it is no longer registered as a sleeper, because that makes progress, and
    /// progress calls wake-ups of the program.
    pub(crate) holds_operations: bool,
}

/// The number of pauses before a last look. They take half a microsecond to three microseconds,
/// depending on the processor. That is several times as long as a store needs to leave the store
/// buffer when another processor has the cache line.
const PAUSES_BEFORE_LOOK: usize = if cfg!(loom) { 0 } else { 64 };

impl<P: Platform> WorkerThread<P> {
    /// Searches all queues once, in the order of the table. Returns `None` if each of them, at some
    /// moment during the search, was empty, was [shielded](WorkerThread::raise_shield), or held a
    /// job that this worker could not take. The last look before a sleep sees such a job. The
    /// caller then runs the operations that are due, or searches again.
    pub(crate) fn find_work(&self) -> Option<Found> {
        self.observer().observe(Event::Search, P::now);
        let mut retries = Retries::new();
        loop {
            let own = self.take_urgent();
            if let Some(found) = own.or_else(|| self.take_local_job().map(Found::own)) {
                return Some(found);
            }
            let others = self.steal().or_else(|| self.take_injected());
            match others.or_else(|| self.take_background()) {
                Steal::Success(found) => return Some(found),
                Steal::Empty => return None,
                Steal::Retry if retries.try_wait(self) => {}
                Steal::Retry => return None,
            }
        }
    }

    /// Searches as [`find_work`](Self::find_work) does, but looks where the hint says right after
    /// the urgent jobs and this worker's own queues.
    #[cold]
    pub(crate) fn find_work_at(&self, hint: Hint) -> Option<Found> {
        let urgent = self.take_urgent();
        let found = match urgent.or_else(|| self.take_local_job().map(Found::own)) {
            Some(found) => Steal::Success(found),
            None => self.look_at(hint),
        };
        if let Steal::Success(found) = found {
            self.observer().observe(Event::Search, P::now);
            return Some(found);
        }
        // A hint that is out of date has cost this one look.
        self.find_work()
    }

    /// Takes the job at the front of the injector.
    fn take_injected(&self) -> Steal<Found> {
        let answer = self.registry().injectors().normal().steal().map(Found::own);
        if answer.is_success() {
            self.last_source.note_found(Source::Injector);
        }
        answer
    }

    /// Takes the job at the front of the background queue.
    fn take_background(&self) -> Steal<Found> {
        let queue = self.registry().injectors().background();
        if queue.is_empty() {
            Steal::Empty
        } else {
            queue.steal().map(Found::own)
        }
    }

    /// Takes another job from where the last search has found one. So a worker that has run a
    /// stolen job does not count as idle if more are there.
    ///
    /// Only while all workers are awake: a search that finds a job also wakes other workers for
    /// what it leaves.
    #[inline]
    pub(crate) fn take_again(&self) -> Option<Found> {
        let source = self.last_source.next()?;
        if !self.registry().all_are_awake() {
            return None;
        }
        let answer = match source {
            Source::Injector => self.registry().injectors().normal().steal().map(Found::own),
            Source::Worker(victim) => self.steal_from(victim),
        };
        match answer {
            Steal::Success(found) => Some(found),
            Steal::Empty | Steal::Retry => {
                self.last_source.note_empty();
                None
            }
        }
    }

    /// Searches all queues once while this worker counts as active, in a pool of
    /// [many](MANY_WORKERS) workers, if its last successful search has found a job in another
    /// worker's deque. Where jobs come from outside, most first searches find none.
    ///
    /// No poster relies on a worker that does not count as idle. So this worker passes nothing on
    /// if it finds a job, and overlooks nothing if it does not: it counts as idle and searches
    /// again.
    ///
    /// Unlike [`take_again`](Self::take_again), this also searches while workers sleep. Whatever a
    /// poster left to others, it left to an idle worker, which passes it on. Only a job that a
    /// sleeper has overlooked, see [internal jobs](sleep_core::Origin::Internal), may wait
    /// longer for a second worker.
    #[inline]
    pub(crate) fn search_uncounted(&self) -> Option<Found> {
        if self.registry().num_workers() <= MANY_WORKERS || !self.last_source.was_worker() {
            return None;
        }
        self.find_work()
    }

    /// Looks once where a hint says.
    fn look_at(&self, hint: Hint) -> Steal<Found> {
        match hint {
            Hint::Unknown => Steal::Empty,
            Hint::Injector => self.registry().injectors().normal().steal().map(Found::own),
            Hint::Worker(number) => {
                let victim = usize::from(number);
                // A channel may give any number.
                if victim >= self.registry().num_workers() {
                    return Steal::Empty;
                }
                self.steal_from(victim)
            }
        }
    }

    /// Checks whether any source holds work for this worker, before it sleeps. If none does, fast
    /// push is disabled for all other workers, so that they announce the next job, which wakes
    /// this worker.
    ///
    /// Called after the fence of
    /// [`SleepProtocol::no_work_found`](sleep_core::SleepProtocol::no_work_found).
    pub(crate) fn check_sources_before_sleep(&self) -> LastLook {
        let has_process_fence = self.registry().disable_other_fast_pushes(self.index());
        let holds_operations = self.holds_operations();
        let has_own_work = holds_operations || !self.shared().inbox.is_empty();
        LastLook {
            holds_operations,
            ..self
                .registry()
                .look_at_sources(has_own_work, has_process_fence)
        }
    }

    /// Whether any source holds work that every worker may take.
    pub(crate) fn has_work_for_others(&self) -> bool {
        self.has_pending_jobs() || self.registry().has_common_work(self.awake_index())
    }

    /// Whether any source holds work for which this worker, which stops searching, should wake
    /// another one.
    ///
    /// While [enough](Platform::parallelism) workers are awake, the jobs of joins are not such
    /// work.
    pub(crate) fn has_work_to_pass_on(&self) -> bool {
        let registry = self.registry();
        if !registry.enough_are_awake() {
            return self.has_work_for_others();
        }
        registry.has_operations_or_injected_jobs()
            || registry.any_awake_deque(None, self.index().get(), |worker, deque| {
                !deque.is_empty() && registry.workers()[worker].may_hold_posted()
            })
    }
}

impl<P: Platform> Registry<P> {
    /// Checks, for a worker whose own thread sleeps and whose seat a guest gives back, whether that
    /// thread must wake up: a source holds work for it, or it was requested to stop. Disables
    /// fast push as [`check_sources_before_sleep`](WorkerThread::check_sources_before_sleep)
    /// does.
    ///
    /// Called after the fence of [`LendSeats::give_back`](sleep_core::LendSeats::give_back). The
    /// worker's thread may run by then, so this does not touch its half. The guest has looked for
    /// operations before.
    pub(crate) fn check_sources_for_host(&self, worker: WorkerIndex) -> LastLook {
        let has_process_fence = self.disable_other_fast_pushes(worker);
        let shared = &self.workers()[worker.get()];
        // The guest may have left jobs in the deque, which others leave out from now on.
        let has_own_work =
            !shared.inbox.is_empty() || shared.terminate.probe() || !shared.deque.is_empty();
        self.look_at_sources(has_own_work, has_process_fence)
    }

    /// Whether a worker whose own thread sleeps must wake up for work that this thread has queued
    /// or knows of.
    pub(crate) fn has_work_for_host(&self, worker: WorkerIndex) -> bool {
        let shared = &self.workers()[worker.get()];
        !shared.inbox.is_empty() || shared.terminate.probe() || self.has_common_work(None)
    }

    /// Disables fast push in the deques of all workers that may be awake, except the one that
    /// sleeps from now on. Those left out have disabled it themselves. Returns whether all
    /// threads of the pool have executed a fence since.
    pub(crate) fn disable_other_fast_pushes(&self, sleeper: WorkerIndex) -> bool {
        let mut any_enabled = false;
        self.any_awake_deque(None, sleeper.get(), |worker, deque| {
            if worker != sleeper.get() {
                any_enabled |= deque.disable_fast_push();
            }
            // Go on with the next one.
            false
        });
        // A fast push that was disabled already needs no process fence. An owner that finds it
        // disabled takes a fence of its own. An owner that has missed it pushed before the
        // process fence of the worker that has disabled it. That worker sees the job, and
        // passes it on to those that have not seen it and sleep.
        let has_process_fence = any_enabled && P::fence_before_sleep(self);
        if !has_process_fence {
            // Ordering: if an owner pushes meanwhile, either we see the job or the owner sees that
            // fast push is disabled; see `Deque::disable_fast_push` for what is left open. No
            // weaker fence orders our stores before our looks.
            fence(Ordering::SeqCst);
            if any_enabled {
                // What is left open is a job whose publication waits in a store buffer.
                (0..PAUSES_BEFORE_LOOK).for_each(|_| spin_loop());
            }
        }
        has_process_fence
    }

    /// Looks at the sources that all workers take from, unless the worker has work of its own
    /// anyway.
    fn look_at_sources(&self, has_own_work: bool, has_process_fence: bool) -> LastLook {
        let has_common_work = (!has_own_work || has_process_fence) && self.has_common_work(None);
        LastLook {
            has_work: has_own_work || has_common_work,
            must_announce: has_process_fence && has_common_work,
            holds_operations: false,
        }
    }

    /// Whether there is work for which a worker that sleeps is woken: in its inbox, or in a queue
    /// that all workers take from, unless it waits in isolation.
    pub fn may_run(&self, worker: WorkerIndex) -> bool {
        let shared = &self.workers()[worker.get()];
        if shared.has_lone_jobs() {
            return true;
        }
        // A worker notes its sleep in isolation before it gives up being active, and the caller has
        // seen that it is not active.
        //
        // All deques: that of a worker that sleeps holds jobs for the moment in which a guest gives
        // it back.
        !shared.is_lone_sleeper()
            && (self.has_operations_or_injected_jobs()
                || self.workers().iter().any(|it| !it.deque.is_empty()))
    }

    /// Whether a source that all workers take from holds work. The deque of `caller` is not
    /// checked, which must not be registered as a sleeper.
    pub(crate) fn has_common_work(&self, caller: Option<WorkerIndex>) -> bool {
        let first = caller.map_or(0, WorkerIndex::get);
        self.has_operations_or_injected_jobs()
            || self.any_awake_deque(caller, first, |_, deque| !deque.is_empty())
    }

    /// Whether there is work that is in no worker's deque.
    fn has_operations_or_injected_jobs(&self) -> bool {
        !self.injectors().is_empty() || self.progress().has_due()
    }
}
