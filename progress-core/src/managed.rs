//! Managed threads, whose progress is counted, and the operations that they schedule.

#[cfg(feature = "alloc")]
use alloc::boxed::Box;
use core::{cell::Cell, fmt, marker::PhantomData};

#[cfg(feature = "alloc")]
use crate::Operation;
use crate::{
    Domain, DueOperation, Operations, Participant, Progress,
    active::Registration,
    operation::IntoOperation,
    queue::{Batch, Queue},
    unwind::finally,
};

/// The error of a registration: the instance has no free participant.
///
/// # Examples
/// ```
/// use progress_core::{Parker, Participant, Progress};
/// struct Core;
/// impl Parker for Core {
///     fn park(&self) {}
///     fn unpark(&self) {}
/// }
///
/// let participants = [const { Participant::new(Core) }; 1];
/// let progress: Progress<(Core, _)> = Progress::new(participants);
/// let first = progress.register()?;
/// let error = progress.register().unwrap_err();
/// assert_eq!(error.to_string(), "no room for another participant (capacity: 1)");
/// # Ok::<(), progress_core::TooManyParticipants>(())
/// ```
#[doc(alias = "NoFreeLine")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooManyParticipants {
    /// The number of participants that there is room for.
    pub capacity: usize,
}

impl fmt::Display for TooManyParticipants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "no room for another participant (capacity: {})",
            self.capacity
        )
    }
}

impl core::error::Error for TooManyParticipants {}

impl<D: Domain> Progress<D> {
    /// Registers the calling thread as a managed thread. It waits until it is [activated].
    ///
    /// # Errors
    /// Returns [`TooManyParticipants`] if there is no room for another managed thread or
    /// [reader](crate::Reader).
    ///
    /// [activated]: ManagedThread::activate
    pub fn register(&self) -> Result<ManagedThread<'_, D>, TooManyParticipants> {
        let index = self.take_participant(Participant::take)?;
        Ok(ManagedThread {
            registration: Registration {
                progress: self,
                participant: &self.participants()[index],
            },
            index,
            leads: false,
            blocks: 0,
            pins: Cell::new(0),
            recent: Batch::new(),
            operations: Queue::new(),
            ready: Queue::new(),
            not_send: PhantomData,
        })
    }

    /// Makes a free participant one that is registered, and returns its index.
    pub(crate) fn take_participant(
        &self,
        take: fn(&Participant<D::Parker>) -> bool,
    ) -> Result<usize, TooManyParticipants> {
        let participants = self.participants();
        let free = participants.iter().position(take);
        free.ok_or(TooManyParticipants {
            capacity: participants.len(),
        })
    }
}

/// A managed thread. Created by [`Progress::register`].
///
/// A managed thread delays progress only while it is [active](Self::activate). Only then may it
/// read what progress frees.
///
/// # Examples
/// ```
/// use progress_core::{Parker, Participant, Progress};
/// struct Core;
/// impl Parker for Core {
///     fn park(&self) {}
///     fn unpark(&self) {}
/// }
///
/// let participants = [const { Participant::new(Core) }; 2];
/// let progress: Progress<(Core, _)> = Progress::new(participants);
/// let mut this_thread = progress.register()?;
/// {
///     let _active = this_thread.activate();
///     // ... reads of shared structures ...
/// }
/// this_thread.defer(|| println!("all threads have let go of what was taken out of reach before"));
/// while this_thread.pending() > 0 {
///     this_thread.wait();
/// }
/// # Ok::<(), progress_core::TooManyParticipants>(())
/// ```
#[doc(alias = "LocalHandle")]
pub struct ManagedThread<'p, D: Domain> {
    pub(crate) registration: Registration<'p, D>,
    pub(crate) index: usize,
    pub(crate) leads: bool,
    /// The number of guards by which this thread blocks the others.
    pub(crate) blocks: usize,
    /// The number of guards of [`pin`](Self::pin) that live or were forgotten.
    pub(crate) pins: Cell<usize>,
    /// Operations without a value.
    recent: Batch,
    pub(crate) operations: Queue,
    /// Operations that belonged to no thread, and whose values are reached.
    ready: Queue,
    /// Only this thread may use the participant.
    not_send: PhantomData<*mut ()>,
}

impl<'p, D: Domain> ManagedThread<'p, D> {
    /// Returns the instance that registered this thread.
    #[inline]
    #[must_use]
    pub fn progress(&self) -> &'p Progress<D> {
        self.registration.progress
    }

    #[inline]
    pub(crate) fn participant(&self) -> &'p Participant<D::Parker> {
        self.registration.participant
    }

    /// Schedules an operation that this thread runs when all threads have made progress, in
    /// [`run_reached`](Self::run_reached), [`Active::tick`](crate::Active::tick) or
    /// [`wait`](Self::wait). If this thread ends before, or [leaves its
    /// operations](Self::leave_operations), another thread runs it, or the drop of the instance
    /// does.
    ///
    /// The grace period of an operation begins with the next such call, or when one more operation
    /// is scheduled than the 32 that share one fence.
    ///
    /// Accepts a `&'static mut` `Operation` or, with the feature `alloc`, a box with one.
    #[doc(alias = "call_rcu")]
    pub fn schedule(&mut self, operation: impl IntoOperation) {
        if self.recent.is_full() {
            self.seal();
        }
        self.recent.push(operation.into_header());
    }

    /// Schedules a closure, in a box, as [`schedule`](Self::schedule) does.
    #[cfg(feature = "alloc")]
    pub fn defer(&mut self, closure: impl FnOnce() + Send + 'static) {
        self.schedule(Box::new(Operation::new(closure)));
    }

    /// Schedules operations in their order, all for the same moment, with one full fence for all of
    /// them. See [`schedule`](Self::schedule).
    pub fn schedule_all(&mut self, mut operations: Operations) {
        if operations.is_empty() {
            return;
        }
        self.seal();
        let value = self.progress().later().raw;
        self.operations.append(&mut operations.queue, value);
    }

    /// Returns the number of operations that this thread has scheduled and not run yet.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.recent.len() + self.operations.len() + self.ready.len()
    }

    /// Whether there are operations for this thread: its own, or some that belong to no thread and
    /// are due. Then it should call [`tick`](crate::Active::tick) or [`wait`](Self::wait) now and
    /// then.
    #[must_use]
    pub fn has_operations(&self) -> bool {
        self.pending() > 0 || self.progress().has_due()
    }

    /// Runs the operations whose time has come, at most [`run_limit`](Self::run_limit) of them, and
    /// returns their number.
    ///
    /// Makes no progress by itself: a thread that is alone calls [`tick`](crate::Active::tick) or
    /// [`wait`](Self::wait), which do.
    pub fn run_reached(&mut self) -> usize {
        (0..self.run_limit())
            .map_while(|_| self.take_due().map(DueOperation::run))
            .count()
    }

    /// Takes out the first operation whose time has come, so that the caller can run it while this
    /// thread is not borrowed. See [`run_limit`](Self::run_limit).
    pub fn take_due(&mut self) -> Option<DueOperation> {
        self.adopt_due();
        self.seal();
        let current = self.progress().current();
        let header = self
            .ready
            .pop()
            .or_else(|| self.operations.pop_reached(current))?;
        Some(DueOperation::new(header))
    }

    /// Returns the number of operations that a thread should run at a time: 50 and half of those
    /// that are pending. Those that belong to no thread and are due are taken over first.
    ///
    /// With this limit a thread keeps up with any number of operations that it schedules between
    /// two calls. When those are pending but not due, and as many from before the last call are
    /// due, the thread runs all of the latter. With an eighth instead of the half it would first
    /// collect six times as many.
    #[must_use]
    pub fn run_limit(&mut self) -> usize {
        self.adopt_due();
        50 + self.pending() / 2
    }

    /// Leaves to the instance the operations that this thread has taken over from it and not run.
    /// They are due, and any thread may run them. Intended for a thread that has run as many as it
    /// [should](Self::run_limit) and is about to do something else.
    pub fn leave_due(&mut self) {
        self.progress().unowned.push_due(&mut self.ready);
    }

    /// Leaves the operations of this thread to the instance, and makes progress for them. When they
    /// are due, the next thread that calls [`Progress::run_reached`] or an equivalent runs them.
    /// Intended for a thread that is about to do something else for long, such as sleep for another
    /// reason.
    ///
    /// This thread makes progress unless something delays it. Then the thread or the delay that is
    /// the last to end makes progress, and finds what is [due](Progress::has_due).
    pub fn leave_operations(&mut self) {
        self.seal();
        self.leave_due();
        let unowned = &self.progress().unowned;
        if let Some(first) = self.operations.first_value() {
            unowned.push_pending(&mut self.operations);
            self.progress().request_unowned(first);
        }
    }

    /// Assigns one value to all operations that have none.
    pub(crate) fn seal(&mut self) {
        if self.recent.len() == 0 {
            return;
        }
        let value = self.progress().later().raw;
        for operation in self.recent.drain() {
            self.operations.push(operation, value);
        }
    }

    /// Takes over the operations that belong to no thread and are due. Those that came last are at
    /// the top of their stack, and at the end of the queue: so none is overtaken forever, however
    /// many more become due each time.
    fn adopt_due(&mut self) {
        let mut adopted = Queue::new();
        for operation in self.progress().unowned.take_due() {
            adopted.push_front(operation, 0);
        }
        self.ready.append(&mut adopted, 0);
    }
}

impl<D: Domain> Drop for ManagedThread<'_, D> {
    fn drop(&mut self) {
        // The first three steps change something only if a guard was forgotten.
        let has_led = self.leads;
        self.stop_leading();
        let (registration, blocks) = (self.registration, self.blocks > 0);
        let let_continue = || {
            if blocks {
                registration.progress.let_continue();
            }
        };
        let end = || {
            registration.participant.clear_wanted();
            finally(
                || self.leave_operations(),
                || registration.participant.give_back(),
            );
        };
        finally(
            || registration.leave_forgotten(has_led),
            || finally(let_continue, end),
        );
    }
}

impl<D: Domain> fmt::Debug for ManagedThread<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ManagedThread")
            .field("index", &self.index)
            .field("participant", self.participant())
            .field("leads", &self.leads)
            .field("pending", &self.pending())
            .finish()
    }
}
