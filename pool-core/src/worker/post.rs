//! How a worker queues jobs on its own deque, wakes thieves for them, or keeps thieves away at
//! first.
//!
//! # Calls whose jobs thieves leave alone
//!
//! To have a job stolen costs a caller half a microsecond to two: the thief fetches the caller's
//! cache lines, and ends the bias of its deque. A call that takes less than a few microseconds is
//! faster alone. So a platform that expects a short call [shields](WorkerThread::raise_shield) its
//! worker meanwhile. A thief that meets the shield notes the time, and steals nothing. If it meets
//! the same call later than [`SHIELDED_FOR`], it breaks the shield for all thieves.
//!
//! ## Why no job waits for good
//!
//! A thief that leaves a job alone is a worker that searches. It goes on searching as long as the
//! deque holds jobs, because its last look before it sleeps sees them. So it meets the call again
//! and breaks the shield, unless the call ends before. A worker watches one call at a time, until
//! that one has ended or its shield is broken, so each call has its turn. A caller that wakes a
//! worker lowers its shield, so that the worker steals at once.
//!
//! Jobs that the worker may leave to others, as those of scopes, are never shielded.

use core::cell::Cell;

use crate::{
    job::JobRef,
    metrics::{Event, Observer as _},
    platform::Platform,
    primitive::{AtomicUsize, Ordering, fence},
    unwind::no_unwind,
    worker::{
        WorkerShared, WorkerThread,
        cold::{ColdPath, Path},
    },
};

#[cfg(all(test, not(loom)))]
mod tests;

impl<P: Platform> WorkerThread<P> {
    /// Queues a job on this worker's deque, or runs it at once if that is full. No sleeping worker
    /// overlooks it, so this worker may go and do something else.
    ///
    /// # Safety
    /// 1. As for [`JobRef::execute`].
    #[inline]
    pub unsafe fn post(&self, job: JobRef) {
        // SAFETY: obligation 1 is forwarded to our caller.
        if let Err(job) = unsafe { self.try_post(job) } {
            // SAFETY: 1. the deque gave it back.
            unsafe { self.run_for_lack_of_room(job) };
        }
    }

    /// Queues a job as [`post`](Self::post) does, but gives it back if the deque is full. For a
    /// platform that has another queue for it: a job that spawns the next one, and is run at once,
    /// would run that one within itself, and so on until the stack ends.
    ///
    /// # Errors
    /// The job, if a deque of fixed capacity is full.
    ///
    /// # Safety
    /// 1. As for [`JobRef::execute`].
    #[inline]
    pub unsafe fn try_post(&self, job: JobRef) -> Result<(), JobRef> {
        self.shared().note_posted();
        self.own().try_push(job).map_err(|full| full.0)?;
        self.observer().observe(Event::Post { count: 1 }, P::now);
        self.announce_posted(1);
        Ok(())
    }

    /// Queues a job as [`post`](Self::post) does, behind the others of this worker's deque: the
    /// next job that the worker takes from there is the oldest.
    ///
    /// For a job that [runs at top level](Self::is_in_job_at_top_level), and gives way to others.
    /// The worker comes to those of other sources at its fair looks.
    ///
    /// # Safety
    /// 1. As for [`JobRef::execute`].
    pub unsafe fn post_last(&self, job: JobRef) {
        self.let_oldest_come_next();
        // SAFETY: obligation 1 is forwarded to our caller.
        unsafe { self.post(job) };
    }

    /// Queues jobs as [`post`](Self::post) does, in their order, with one fence and one decision
    /// about which workers to wake for all of them. Jobs that the deque has no room for are run at
    /// once.
    ///
    /// # Complexity
    /// Linear in the number of jobs, plus one wake-up for each sleeping worker that is woken.
    ///
    /// # Safety
    /// 1. As for [`JobRef::execute`], for each job.
    pub unsafe fn post_many(&self, jobs: &[JobRef]) {
        self.shared().note_posted();
        let mut posted = 0;
        for &job in jobs {
            if self.own().try_push(job).is_err() {
                break;
            }
            posted += 1;
        }
        if posted > 0 {
            self.observer()
                .observe(Event::Post { count: posted }, P::now);
            self.announce_posted(posted);
        }
        // After the announcement, because the jobs run here may take long, and may wait for the
        // posted ones.
        for &job in &jobs[posted..] {
            // SAFETY: 1. the deque has not taken it; the others are not used again.
            unsafe { self.post(job) };
        }
    }

    /// Notes that a steal has put `count` jobs on this worker's deque, and wakes thieves for them
    /// if need be.
    ///
    /// A worker that fell asleep while they were on their way has seen them in neither deque.
    pub(crate) fn announce_moved(&self, count: usize) {
        if count > 0 {
            self.observer().observe(Event::Moved { count }, P::now);
            self.shared().note_posted();
            self.announce_posted(count);
        }
    }

    /// Wakes thieves, if need be, for `count` jobs that this worker has put on its deque and may
    /// leave.
    #[inline]
    fn announce_posted(&self, count: usize) {
        // Ordering: the poster's fence. Pairs with the fence of a worker that falls asleep, before
        // its last look: either the look sees the jobs, or we see the worker. Nothing
        // weaker orders the pushes before the read in `all_are_awake`.
        fence(Ordering::SeqCst);
        // The frame of a caller may hold the jobs, so that it must not be left.
        if !no_unwind(|| self.registry().all_are_awake()) || self.is_awaited_asleep() {
            self.announce_posted_to_sleepers(count);
        }
    }

    #[cold]
    #[inline(never)]
    fn announce_posted_to_sleepers(&self, count: usize) {
        P::run_cold(ColdPath(Path::AnnouncePosted(self, count)));
    }

    pub(super) fn announce_posted_cold(&self, count: usize) {
        let was_empty = || self.own().len() <= count;
        // A scope or a thread outside may wait for the jobs.
        no_unwind(|| {
            self.stop_being_left_out();
            self.registry()
                .announce_own_jobs(self.index(), count, was_empty);
            self.wake_awaiting();
        });
    }

    /// Wakes this worker, if it is registered as a sleeper: then this thread is in a function of
    /// the worker's own parker, which has queued a job. Other workers leave the deque of a
    /// sleeper out.
    ///
    /// If another thread is waking the worker, others may leave the deque out until that thread
    /// goes on. This worker then finds the job itself when it returns from its parker.
    pub(super) fn stop_being_left_out(&self) {
        if self.may_be_left_out.get() {
            self.registry().wake_worker(self.index());
            // Ordering: pairs with the fence of a worker that falls asleep, before it reads which
            // workers may be awake: either it sees that this one is awake, and so the job, or the
            // caller sees that worker and announces the job. The fence after the push came before
            // this worker was awake.
            fence(Ordering::SeqCst);
        }
    }

    /// Runs a job that the deque has no room for.
    ///
    /// # Safety
    /// 1. As for [`JobRef::execute`].
    #[cold]
    unsafe fn run_for_lack_of_room(&self, job: JobRef) {
        self.observer().observe(Event::DequeFull, P::now);
        // SAFETY: obligation 1 is forwarded to our caller.
        unsafe { self.run(job) }
    }
}

/// For how many nanoseconds a thief leaves a call alone: about as long as the longest call takes
/// that two workers do not finish sooner than one.
const SHIELDED_FOR: u64 = 10_000;

/// Whether the jobs of a worker's call are shielded.
///
/// The number of the call above two bits of a [`State`]. The worker writes it, and a thief that
/// breaks the shield does.
pub(crate) struct Shield(AtomicUsize);

/// A call whose jobs are shielded: its number and its state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ShieldedCall(usize);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
enum State {
    Down = 0,
    Raised = 1,
    Broken = 2,
}

const STATE_BITS: u32 = 2;
const STATE_MASK: usize = (1 << STATE_BITS) - 1;

impl Shield {
    const_unless_loom! {
        /// Creates a shield that is down.
        pub(super) fn new() -> Self {
            Self(AtomicUsize::new(State::Down as usize))
        }
    }

    /// Returns the call whose jobs are shielded, if there is one.
    #[inline]
    fn call(&self) -> Option<ShieldedCall> {
        // Ordering: Relaxed for each access to this word. It says for how long thieves wait, and
        // guards nothing.
        let word = self.0.load(Ordering::Relaxed);
        (word & STATE_MASK == State::Raised as usize).then_some(ShieldedCall(word))
    }

    /// Raises the shield for a new call.
    fn raise(&self) {
        let call = (self.0.load(Ordering::Relaxed) & !STATE_MASK).wrapping_add(1 << STATE_BITS);
        self.0
            .store(call | State::Raised as usize, Ordering::Relaxed);
    }

    /// Lowers the shield. Returns whether a thief has broken it.
    pub(super) fn lower(&self) -> bool {
        let word = self.0.load(Ordering::Relaxed);
        // A thief that breaks it between these two is not noticed, and has stolen nothing yet.
        self.0.store(word & !STATE_MASK, Ordering::Relaxed);
        word & STATE_MASK == State::Broken as usize
    }

    /// Breaks the shield of this call, if it has not ended.
    fn break_for(&self, call: ShieldedCall) {
        let broken = (call.0 & !STATE_MASK) | State::Broken as usize;
        // If this fails, the call has ended, or another thief was faster.
        let _ = self
            .0
            .compare_exchange(call.0, broken, Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// The shielded call that a thief watches.
pub(crate) struct Watch(Cell<Option<Watched>>);

#[derive(Debug, Clone, Copy)]
struct Watched {
    victim: usize,
    call: ShieldedCall,
    /// When the thief has met it first, in nanoseconds.
    since: u64,
}

impl Watch {
    pub(super) const fn new() -> Self {
        Self(Cell::new(None))
    }
}

impl<P: Platform> WorkerThread<P> {
    /// Lets thieves leave this worker's jobs of joins alone for some microseconds, or until
    /// [`lower_shield`](Self::lower_shield). For a platform that expects the call to be over by
    /// then.
    ///
    /// Without a [clock](Platform::now) it has no effect.
    ///
    /// # Complexity
    /// Two accesses to memory that thieves read.
    #[inline]
    pub fn raise_shield(&self) {
        self.shared().shield.raise();
    }

    /// Lets thieves steal again. Returns whether a thief has stolen before, because the time was
    /// over.
    #[inline]
    pub fn lower_shield(&self) -> bool {
        self.shared().shield.lower()
    }

    /// Whether this worker leaves the jobs of another one alone for now.
    #[inline]
    pub(crate) fn respects_shield(&self, victim: usize) -> bool {
        let shared = &self.registry().workers()[victim];
        match shared.shield.call() {
            None => false,
            Some(call) => !shared.may_hold_posted() && self.watch_call(shared, victim, call),
        }
    }

    /// Watches a call if this worker watches no other. Returns whether it is still shielded.
    #[cold]
    fn watch_call(&self, shared: &WorkerShared<P>, victim: usize, call: ShieldedCall) -> bool {
        let Some(now) = P::now() else {
            return false;
        };
        let watched = Watched {
            victim,
            call,
            since: now,
        };
        match self.watch.0.get() {
            Some(old) if old.victim == victim && old.call == call => {
                if now.saturating_sub(old.since) < SHIELDED_FOR {
                    return true;
                }
                shared.shield.break_for(call);
                self.watch.0.set(None);
                false
            }
            Some(old) if self.is_shielded_still(old) => true,
            _ => {
                self.watch.0.set(Some(watched));
                true
            }
        }
    }

    fn is_shielded_still(&self, watched: Watched) -> bool {
        let shield = &self.registry().workers()[watched.victim].shield;
        shield.call() == Some(watched.call)
    }
}
