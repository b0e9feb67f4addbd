//! An event for which one worker at a time waits, halted and marked as blocked.

use core::{fmt, mem, ptr};

use lock_api::Mutex;
use pool_core::{Parker as _, accounting::Ticket};

use super::{DetectsDeadlocks, WaitError};
use crate::{
    machine::{CoreParker, Machine},
    pool::{SpinPool, Worker},
};

/// An event that an interrupt handler or another core causes, and for which one worker at a time
/// waits.
///
/// While a worker [waits](Worker::wait_for), it is marked as blocked and halts in a parker of the
/// completion. [`complete`](Self::complete) unmarks it and wakes it. A completion that comes before
/// the wait is kept: the next wait returns at once. If several completions come before a wait
/// returns, they count as one, which belongs to that wait.
///
/// # Examples
/// ```
/// use pool_spin::{
///     SpinPool,
///     deadlock::{Completion, DetectingCores},
///     host::{Host, HostLock},
/// };
///
/// type Chip = DetectingCores<Host, HostLock, 1, 16>;
/// static POOL: SpinPool<Chip> = SpinPool::with_deadlock_handler(|report| panic!("{report}"));
/// static TIMER: Completion<Chip> = Completion::new(&POOL);
///
/// TIMER.complete(); // in an interrupt handler
/// POOL.run_with(0, |core| core.wait_for(&TIMER).unwrap())?; // returns at once
/// # Ok::<(), pool_spin::RunError>(())
/// ```
pub struct Completion<S: DetectsDeadlocks> {
    pool: &'static SpinPool<S>,
    progress: Mutex<S::Lock, Progress>,
    parker: <S::Machine as Machine>::Parker,
}

/// The state of the event and of the worker that waits for it.
#[derive(Debug, Clone, Copy)]
enum Progress {
    /// The event has not occurred, and no worker waits.
    Pending,
    /// A worker waits, in this blocked section.
    Awaited(Ticket),
    /// The event has occurred, and the waiting worker has not noticed it.
    Resuming,
    /// The event has occurred, and no worker waits.
    Complete,
}

impl<S: DetectsDeadlocks> Completion<S> {
    /// Creates a completion of an event that has not occurred, for the workers of a pool.
    #[must_use]
    pub const fn new(pool: &'static SpinPool<S>) -> Self {
        Self {
            pool,
            progress: Mutex::const_new(<S::Lock as lock_api::RawMutex>::INIT, Progress::Pending),
            parker: CoreParker::NEW,
        }
    }

    /// Completes the event: unmarks the worker that waits for it and wakes that worker, or keeps
    /// the completion for the next wait.
    ///
    /// Any core may call this, and so may an interrupt handler, if the pool's lock is an
    /// [`InterruptLock`](crate::InterruptLock). The deadlock handler must not. The worker sees
    /// everything that was written before the call.
    pub fn complete(&self) {
        let mut progress = self.progress.lock();
        let next = match *progress {
            Progress::Pending | Progress::Complete => Progress::Complete,
            Progress::Awaited(_) | Progress::Resuming => Progress::Resuming,
        };
        if let Progress::Awaited(ticket) = mem::replace(&mut *progress, next) {
            // This is under the lock: the worker may be looking at the progress, because its parker
            // has returned without a token, and would otherwise continue while it counts as
            // blocked. An error says that the section was ended with a ticket from a report.
            let _ = self.pool.mark_unblocked(ticket);
            drop(progress);
            // The worker may already have continued. Then the token is left over for the next wait.
            self.parker.unpark();
        }
    }

    fn wait(&self, worker: Worker<'_, S>) -> Result<(), WaitError> {
        if !ptr::eq(worker.0.registry(), self.pool.registry()) {
            return Err(WaitError::OtherPool);
        }
        // Not under the lock, which masks interrupts: this moves all operations that the job has
        // scheduled, and wakes workers. `mark_blocked` finds none of them then.
        worker.0.notify_leftovers();
        let mut progress = self.progress.lock();
        match *progress {
            Progress::Complete => {
                *progress = Progress::Pending;
                return Ok(());
            }
            // This holds even if the event has occurred: the worker that waits for it would miss
            // it.
            Progress::Awaited(_) | Progress::Resuming => return Err(WaitError::Taken),
            Progress::Pending => {}
        }
        // This is under the lock of the completion. Either `complete` comes before the mark, which
        // then is not made, or it finds the ticket. In between, a worker whose event has occurred
        // could be reported.
        let ticket = worker.mark_blocked().map_err(WaitError::NotActive)?;
        *progress = Progress::Awaited(ticket);
        drop(progress);
        // A parker may return early, and one token may be left over from the wait before.
        while !self.take_completion() {
            // Liveness: after a look that found no completion, `complete` finds the ticket, and
            // then gives a token. No call of an earlier wait takes it: that call has returned. Nor
            // does another worker take the completion: its wait is refused until this one returns.
            self.parker.park();
        }
        worker.0.note_unblocked();
        Ok(())
    }

    /// Returns whether the event of the waiting worker has occurred. If so, makes the next wait one
    /// for a new event.
    fn take_completion(&self) -> bool {
        let mut progress = self.progress.lock();
        let is_complete = matches!(*progress, Progress::Resuming);
        if is_complete {
            *progress = Progress::Pending;
        }
        is_complete
    }
}

impl<S: DetectsDeadlocks> Worker<'_, S> {
    /// Waits for a completion: halts this core, marked as blocked, until it comes. Returns at once
    /// if it has already come.
    ///
    /// The core runs no jobs meanwhile, and leaves those that it has queued to the other workers.
    /// Interrupt handlers run as in the parker of the machine.
    ///
    /// # Errors
    /// [`WaitError`] if another worker waits for the completion, or its wait has not returned; if
    /// the completion is for another pool; or if this worker is already blocked.
    ///
    /// # Examples
    /// See [`Completion`], and the [module](crate::deadlock).
    pub fn wait_for(self, completion: &Completion<S>) -> Result<(), WaitError> {
        completion.wait(self)
    }
}

impl<S: DetectsDeadlocks> fmt::Debug for Completion<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The deadlock handler may print this while a worker holds the lock.
        let progress = self.progress.try_lock().map(|progress| *progress);
        f.debug_struct("Completion")
            .field("progress", &progress)
            .finish_non_exhaustive()
    }
}
