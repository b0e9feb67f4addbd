//! The half of a worker that it shares with the other workers of its pool.

use core::fmt;

use deque_core::Deque;
use sleep_core::CoreLatch;

use super::{lineage::PublishedLineage, lone_sleep::LoneSleep, shield::Shield};
use crate::{
    fifo::JobFifo,
    guest::Seat,
    job::JobRef,
    platform::Platform,
    primitive::{AtomicU8, Ordering},
    queue::JobQueue as _,
};

/// The half of a worker that it shares with the other workers of its pool.
///
/// # Examples
/// See [`Platform`].
pub struct WorkerShared<P: Platform> {
    pub(crate) deque: Deque<JobRef, P::Storage>,
    /// Jobs that only this worker may run: broadcasts.
    pub(crate) inbox: P::Queue,
    /// Jobs that this worker spawned to be run in first-in first-out order.
    pub(super) fifo: JobFifo<P>,
    pub(crate) terminate: CoreLatch,
    /// Flags that say what the deque may hold: [`POSTED`] and [`OWED`]. Only the worker writes
    /// this.
    may_hold: AtomicU8,
    /// Which thread uses the other half.
    pub(crate) seat: Seat<P>,
    pub(super) lone_sleep: LoneSleep,
    pub(crate) lineage: PublishedLineage,
    pub(super) shield: Shield,
    observer: P::Observer,
}

/// Jobs that the worker may leave to others, other than those of joins.
const POSTED: u8 = 1;
/// A job that a worker waits for in isolation and may not take.
const OWED: u8 = 2;

/// Storage for the shared halves of the workers of one [`Registry`](crate::Registry).
///
/// Implemented by an array, by a box with a slice (feature `alloc`), and by a slice that is
/// borrowed exclusively:
/// ```
/// use pool_core::{Platform, WorkerShared, WorkerStorage};
///
/// fn is_storage<P: Platform, S: WorkerStorage<P>>() {}
/// fn storages<P: Platform>() {
///     is_storage::<P, [WorkerShared<P>; 2]>();
///     is_storage::<P, &'static mut [WorkerShared<P>]>();
/// }
/// ```
///
/// A shared slice is not enough, because two registries must not share workers. A thief of one
/// registry takes part in the thread progress of that registry alone, so the other one would free a
/// buffer while the thief reads it:
/// ```compile_fail,E0277
/// use pool_core::{Platform, WorkerShared, WorkerStorage};
///
/// fn is_storage<P: Platform, S: WorkerStorage<P>>() {}
/// fn storages<P: Platform>() {
///     is_storage::<P, &'static [WorkerShared<P>]>();
/// }
/// ```
///
/// # Safety
/// 1. `as_ref` returns the same workers each time. This includes calls after the value was moved,
///    except that workers which are part of the value move with it.
/// 2. As long as the value lives, no other registry uses any of these workers.
pub unsafe trait WorkerStorage<P: Platform>: AsRef<[WorkerShared<P>]> {}

// SAFETY: obligation 1: an array returns itself and moves with its workers; a registry that is in
// use does not move. Obligation 2: the array owns the workers.
unsafe impl<P: Platform, const N: usize> WorkerStorage<P> for [WorkerShared<P>; N] {}

// SAFETY: obligation 1: the box leads to the same memory wherever the box is. Obligation 2: the box
// owns the workers.
#[cfg(feature = "alloc")]
unsafe impl<P: Platform> WorkerStorage<P> for alloc::boxed::Box<[WorkerShared<P>]> {}

// SAFETY: obligation 1: the reference leads to the same memory wherever the reference is.
// Obligation 2: the reference is exclusive.
unsafe impl<P: Platform> WorkerStorage<P> for &mut [WorkerShared<P>] {}

impl<P: Platform> fmt::Debug for WorkerShared<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkerShared")
            .field("jobs", &self.deque.len())
            .field("seat", &self.seat)
            .finish_non_exhaustive()
    }
}

impl<P: Platform> WorkerShared<P> {
    const_unless_loom! {
        /// Creates a worker with these queues, all empty, and this observer.
        ///
        /// A [`JobRef`] can be copied, so a deque may hold one that the worker would run a second
        /// time:
        /// ```compile_fail,E0133
        /// use pool_core::{Deque, JobRef, Order, Platform, WorkerShared};
        ///
        /// fn run_twice<P: Platform>(
        ///     job: JobRef,
        ///     deque: Deque<JobRef, P::Storage>,
        ///     [inbox, fifo]: [P::Queue; 2],
        ///     observer: P::Observer,
        /// ) -> WorkerShared<P> {
        ///     let owner = deque.worker().unwrap();
        ///     assert!(owner.try_push(job).is_ok() && owner.try_push(job).is_ok());
        ///     drop(owner);
        ///     WorkerShared::new(deque, inbox, fifo, observer)
        /// }
        /// ```
        ///
        /// # Safety
        /// 1. The deque holds no job of which there is another reference in a queue, this deque
        ///    included. A new deque holds none.
        pub unsafe fn new(
            deque: Deque<JobRef, P::Storage>,
            inbox: P::Queue,
            fifo: P::Queue,
            observer: P::Observer,
        ) -> Self {
            let (terminate, seat) = (CoreLatch::new(), Seat::new());
            let may_hold = AtomicU8::new(0);
            let (lone_sleep, lineage) = (LoneSleep::new(), PublishedLineage::new());
            Self {
                deque, inbox, fifo: JobFifo::new(fifo), terminate, may_hold, seat, lone_sleep,
                lineage, shield: Shield::new(), observer,
            }
        }
    }

    /// Whether there may be a job for which the worker is woken in an isolated wait.
    pub(crate) fn has_lone_jobs(&self) -> bool {
        !self.inbox.is_empty() || self.lone_sleep.is_called()
    }

    /// Whether the worker sleeps in an isolated wait.
    pub(crate) fn is_lone_sleeper(&self) -> bool {
        self.lone_sleep.lasts()
    }

    /// Notes that the worker is about to push a job that it may leave to others. After the push, it
    /// must execute a fence before it looks whether a worker sleeps.
    #[inline]
    pub(super) fn note_posted(&self) {
        // Ordering: Relaxed; the worker alone writes this.
        let held = self.may_hold.load(Ordering::Relaxed);
        if held & POSTED == 0 {
            // Ordering: Relaxed. The caller's fence comes after this store, and after the push. It
            // pairs with the fence of a worker that stops searching: either that worker sees both,
            // or the caller sees that it does not search any more.
            self.may_hold.store(held | POSTED, Ordering::Relaxed);
        }
    }

    /// Notes that the worker's deque is empty.
    #[inline]
    pub(super) fn forget_jobs(&self) {
        // Ordering: Relaxed; the worker alone writes this, here and above.
        if self.may_hold.load(Ordering::Relaxed) != 0 {
            // Ordering: Release pairs with `owes_job`: a thief that sees this claims none of the
            // jobs that were there. A thread that does not see it yet wakes one worker too many, or
            // steals one job instead of several.
            self.may_hold.store(0, Ordering::Release);
        }
    }

    /// Whether the deque may hold jobs that the worker may leave to others. Must be read after the
    /// deque and after a fence.
    pub(crate) fn may_hold_posted(&self) -> bool {
        // Ordering: Relaxed, see `note_posted`.
        self.may_hold.load(Ordering::Relaxed) & POSTED != 0
    }

    /// See [`WorkerThread::note_owed_job`](super::WorkerThread::note_owed_job).
    pub(super) fn note_owed_job(&self) {
        // Ordering: Relaxed; the worker alone writes this, and the push of the job publishes it.
        let held = self.may_hold.load(Ordering::Relaxed);
        self.may_hold.store(held | OWED, Ordering::Relaxed);
    }

    /// Whether the deque may hold a job that a worker waits for in isolation and may not take. A
    /// thief asks when it has seen the job.
    pub(crate) fn owes_job(&self) -> bool {
        // Ordering: Acquire pairs with `forget_jobs`. A value that `note_posted` has stored
        // since publishes nothing. The thief's claim fails then, too, since it is an exchange,
        // which acts on the newest position.
        self.may_hold.load(Ordering::Acquire) & OWED != 0
    }

    /// Returns the observer of what the worker does. Any thread may look at what it has counted.
    #[inline]
    pub fn observer(&self) -> &P::Observer {
        &self.observer
    }
}
