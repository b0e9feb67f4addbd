//! Operations that belong to no thread: any thread may schedule them and run them.

#[cfg(feature = "alloc")]
use alloc::boxed::Box;
use core::ptr::NonNull;

#[cfg(feature = "alloc")]
use crate::Operation;
use crate::{
    AsymmetricFence, Domain, Moment, Progress,
    moment::is_reached,
    operation::{Header, IntoOperation, run},
    queue::{Chain, Queue, Stack},
    unwind::{finally, for_each, on_unwind},
};

use sleep_primitives::{AtomicBool, Ordering, RawWord};

/// The operations of an instance that belong to no thread.
///
/// As long as the first two stacks hold any, the flag `WAKEUPS` of the state is set or about to be
/// set. So each thread that ceases to stand in the way makes progress for them.
pub(crate) struct Unowned {
    /// Operations that wake threads. The leader runs them as soon as it comes to their values.
    wakeups: Stack,
    /// Operations whose values are not known to be reached.
    pending: Stack,
    /// Operations whose values are reached, which any thread may run.
    due: Stack,
    /// Whether a thread runs what is due. Prevents an operation that schedules others, which are
    /// due at once, from running them within itself.
    is_running: AtomicBool,
}

impl Unowned {
    const_unless_loom! {
        pub(crate) fn new() -> Self {
            Self {
                wakeups: Stack::new(),
                pending: Stack::new(),
                due: Stack::new(),
                is_running: AtomicBool::new(false),
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.wakeups.is_empty() && self.pending.is_empty() && self.due.is_empty()
    }

    #[inline]
    pub(crate) fn has_due(&self) -> bool {
        !self.due.is_empty()
    }

    /// Takes over operations with their values, which may have been reached.
    pub(crate) fn push_pending(&self, operations: &mut Queue) {
        self.pending.push_all(operations);
    }

    /// Takes over operations whose values are reached already.
    pub(crate) fn push_due(&self, operations: &mut Queue) {
        self.due.push_all(operations);
    }

    pub(crate) fn take_due(&self) -> Chain {
        self.due.take()
    }

    /// Wakes the threads whose values are reached, and moves the operations whose values are
    /// reached to those that are due. Returns whether some are left. Any thread may call this;
    /// meanwhile other threads do not see what it has taken out.
    pub(crate) fn release_reached(&self, current: RawWord) -> bool {
        let wake_up = |wakeup: &mut Queue| wakeup.pop().into_iter().for_each(run);
        let mut operations_are_left = false;
        let wakeups_are_left = finally(
            || sort(&self.wakeups, current, wake_up),
            || {
                operations_are_left =
                    sort(&self.pending, current, |reached| self.due.push_all(reached));
            },
        );
        wakeups_are_left || operations_are_left
    }

    /// Runs all operations. No thread may be reading any more.
    pub(crate) fn run_all(&mut self) {
        // An operation cannot schedule others here, because it has no reference to the instance.
        let stacks = [&self.wakeups, &self.pending, &self.due];
        for_each(stacks.into_iter().flat_map(Stack::take), run);
    }
}

/// Passes each operation whose value is reached to `use_reached`, in a queue that holds nothing
/// else. Returns whether some are left in the stack. They are also left there if `use_reached`
/// panics.
fn sort(stack: &Stack, current: RawWord, mut use_reached: impl FnMut(&mut Queue)) -> bool {
    let mut left = Left {
        stack,
        queue: Queue::new(),
    };
    let sort_one = |operation: NonNull<Header>| {
        // SAFETY: the operation was taken out of the stack, so this call owns it.
        let value = unsafe { operation.as_ref() }.value();
        if is_reached(current, value) {
            let mut reached = Queue::new();
            reached.push(operation, value);
            use_reached(&mut reached);
        } else {
            left.queue.push(operation, value);
        }
    };
    for_each(stack.take(), sort_one);
    left.queue.len() > 0
}

/// Operations that go back to their stack when this is dropped.
struct Left<'u> {
    stack: &'u Stack,
    queue: Queue,
}

impl Drop for Left<'_> {
    fn drop(&mut self) {
        self.stack.push_all(&mut self.queue);
    }
}

/// The right to run what is due. When it is dropped, also by a panic, another thread may take it.
struct Running<'u> {
    unowned: &'u Unowned,
    /// The operations that the thread has not begun to run.
    rest: Chain,
}

impl<'u> Running<'u> {
    /// Takes the right to run what is due. Returns none if another thread has it, or this thread
    /// further up the stack. The holder then sees everything that was due before.
    fn begin(unowned: &'u Unowned) -> Option<Self> {
        // Ordering: AcqRel, also if the flag is set already, therefore an exchange: pairs with
        // `drop`, which then reads what is written here and sees what this thread knows to be due.
        (!unowned.is_running.swap(true, Ordering::AcqRel)).then(|| Self {
            unowned,
            rest: unowned.take_due(),
        })
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let mut rest = Queue::new();
        for operation in &mut self.rest {
            rest.push(operation, 0);
        }
        self.unowned.push_due(&mut rest);
        // Ordering: AcqRel, see `begin`.
        self.unowned.is_running.swap(false, Ordering::AcqRel);
    }
}

impl<D: Domain> Progress<D> {
    /// Schedules an operation to be run when all threads have made progress. Any thread may call
    /// this, managed or not.
    ///
    /// The next thread that [runs what is due](Self::run_reached) runs the operation. This call
    /// also runs what is due, so an operation that nothing delays has usually been run when it
    /// returns, unless another thread is about to run it. The caller must not hold a lock that an
    /// operation takes. A managed thread should use its own
    /// [`schedule`](crate::ManagedThread::schedule), which executes one fence for many operations
    /// and runs none.
    ///
    /// Accepts a `&'static mut` `Operation` or, with the feature `alloc`, a box with one.
    ///
    /// # Examples
    /// ```
    /// use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
    /// use progress_core::{Participant, Operation, Progress};
    /// # use progress_core::Parker;
    /// # struct Core;
    /// # impl Parker for Core {
    /// #     fn park(&self) {}
    /// #     fn unpark(&self) {}
    /// # }
    ///
    /// static IS_FREED: AtomicBool = AtomicBool::new(false);
    /// let progress: Progress<(Core, _)> = Progress::new([Participant::new(Core)]);
    ///
    /// let reading = progress.delay();
    /// progress.schedule(Box::new(Operation::new(|| IS_FREED.store(true, SeqCst))));
    /// assert!(!IS_FREED.load(SeqCst), "a thread may be reading");
    /// drop(reading);
    /// assert_eq!(progress.run_reached(), 1);
    /// assert!(IS_FREED.load(SeqCst));
    /// ```
    pub fn schedule(&self, operation: impl IntoOperation) {
        let value = self.later().raw;
        self.add_unowned(&self.unowned.pending, operation.into_header(), value);
        self.run_reached();
    }

    /// Schedules a closure, in a box, to be run when all threads have made progress: see
    /// [`schedule`](Self::schedule).
    ///
    /// # Examples
    /// ```
    /// use std::sync::Arc;
    /// use progress_core::{Participant, Progress};
    /// # use progress_core::Parker;
    /// # struct Core;
    /// # impl Parker for Core {
    /// #     fn park(&self) {}
    /// #     fn unpark(&self) {}
    /// # }
    ///
    /// let progress: Progress<(Core, _)> = Progress::new([Participant::new(Core)]);
    /// let replaced = Arc::new(5);
    /// let handle = replaced.clone();
    /// progress.defer(move || drop(replaced));
    /// assert_eq!(Arc::strong_count(&handle), 1, "no thread is active");
    /// ```
    #[cfg(feature = "alloc")]
    pub fn defer(&self, closure: impl FnOnce() + Send + 'static) {
        self.schedule(Box::new(Operation::new(closure)));
    }

    /// Requests that an operation wake a thread when all threads have made progress to this moment,
    /// and returns. Any thread may call this, managed or not, for any number of moments.
    ///
    /// The operation runs on the thread that makes progress, in the middle of an advance, or in
    /// this call if the moment is reached already. It should do no more than wake a thread. It must
    /// not wait, and it must not panic. For anything else there is [`schedule`](Self::schedule).
    ///
    /// # Panics
    /// Panics if the moment belongs to another instance.
    ///
    /// # Examples
    /// ```
    /// use std::{sync::mpsc, thread};
    /// use progress_core::{Participant, Operation, Progress};
    /// # use progress_core::Parker;
    /// # struct Core;
    /// # impl Parker for Core {
    /// #     fn park(&self) {}
    /// #     fn unpark(&self) {}
    /// # }
    ///
    /// let progress: Progress<(Core, _)> = Progress::new([Participant::new(Core)]);
    /// let reading = progress.delay();
    /// let moment = progress.later();
    /// let (sender, receiver) = mpsc::channel();
    /// progress.wakeup(moment, Box::new(Operation::new(move || sender.send(()).unwrap())));
    /// // ... other work ...
    /// assert!(receiver.try_recv().is_err());
    /// drop(reading);
    /// receiver.recv()?;
    /// assert!(progress.has_reached(moment));
    /// # Ok::<(), mpsc::RecvError>(())
    /// ```
    pub fn wakeup(&self, moment: Moment<'_>, operation: impl IntoOperation) {
        let value = self.raw(moment);
        self.add_wakeup(operation.into_header(), value);
    }

    /// Requests a wake-up. See [`wakeup`](Self::wakeup).
    pub(crate) fn add_wakeup(&self, operation: NonNull<Header>, value: RawWord) {
        self.add_unowned(&self.unowned.wakeups, operation, value);
    }

    /// Runs the operations that belong to no thread and whose time has come: those that were
    /// [scheduled](Self::schedule) with the instance, and those of threads that have ended. Returns
    /// their number. Any thread may call this, preferably while it holds no locks.
    ///
    /// If another thread runs operations, or this one does further up the stack, that thread runs
    /// these too. It also runs what they schedule, if nothing delays it: an operation that
    /// schedules itself again each time may keep it here forever.
    ///
    /// # Panics
    /// Panics if an operation does. The others stay due, and the next call runs them.
    pub fn run_reached(&self) -> usize {
        let mut count = 0;
        while self.unowned.has_due() {
            let Some(mut running) = Running::begin(&self.unowned) else {
                break;
            };
            for operation in running.rest.by_ref() {
                run(operation);
                count += 1;
            }
        }
        count
    }

    /// Whether there are operations for [`run_reached`](Self::run_reached). Costs a plain load, for
    /// a thread that may have made progress, for example by the drop of a guard, and that can make
    /// a thread run them.
    #[inline]
    #[must_use]
    pub fn has_due(&self) -> bool {
        self.unowned.has_due()
    }

    /// Adds an operation to one of the stacks of [`Unowned`], and makes progress for it.
    fn add_unowned(&self, stack: &Stack, operation: NonNull<Header>, value: RawWord) {
        stack.push(operation, value);
        self.request_unowned(value);
    }

    /// Makes progress for operations that were added just now. `value` is the first of their
    /// values.
    pub(crate) fn request_unowned(&self, value: RawWord) {
        let before = self.shared.state.set_wakeups();
        let advance = || {
            if !before.has_wakeups() {
                // Ordering: as in `request_wakeup`.
                let _ = D::Fence::heavy();
                self.advance_while_needed();
            }
        };
        // If the flag was set: the thread that set it continues, see the README's liveness table.
        // The leader that takes the flag sees what this thread has added, because it takes the flag
        // after this thread has set it.

        // The leader that came to the value has seen what this thread has added, unless it came
        // there before this thread set the flag.
        finally(advance, || self.release_late(before.value(), value));
    }

    /// Releases operations that were added after the leader came to their values. `value` is the
    /// first of these.
    fn release_late(&self, mut current: RawWord, value: RawWord) {
        while is_reached(current, value) {
            let release = || self.unowned.release_reached(current);
            let repair = || {
                if let Some(current) = self.request_left(current) {
                    self.release_late(current, value);
                }
            };
            if !on_unwind(release, repair) {
                return;
            }
            match self.request_left(current) {
                Some(later) => current = later,
                None => return,
            }
        }
    }

    /// Makes progress for operations of other threads that are left after this thread had them. A
    /// leader may have overlooked them meanwhile: then this returns the value to which progress has
    /// come.
    fn request_left(&self, current: RawWord) -> Option<RawWord> {
        let state = self.shared.state.set_wakeups();
        if !state.has_wakeups() {
            // Ordering: as in `request_wakeup`.
            let _ = D::Fence::heavy();
            self.advance_while_needed();
        }
        Some(state.value()).filter(|value| *value != current)
    }
}
