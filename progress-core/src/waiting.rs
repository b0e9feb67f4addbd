//! Threads that wait for a moment, managed or not.

use core::{cell::UnsafeCell, ptr::NonNull};

use sleep_core::Parker;
use sleep_primitives::{AtomicU8, Ordering, RawWord, spin_loop};

use crate::{
    Domain, ManagedThread, Moment, Progress, moment::is_reached, operation::Header, unwind::finally,
};

impl<D: Domain> ManagedThread<'_, D> {
    /// Parks until the first operation of this thread may be run, or until its parker is unparked.
    /// Runs the operations whose time has come and returns their number. With nothing
    /// [pending](Self::pending) it returns at once.
    pub fn wait(&mut self) -> usize {
        let count = self.run_reached();
        let Some(value) = self.operations.first_value().filter(|_| count == 0) else {
            return count;
        };
        self.request_wakeup_at(value);
        let count = self.run_reached();
        if count > 0 {
            return count;
        }
        // Liveness: the leader that comes to the wanted value takes the request and unparks; the
        // token stays until this thread parks. Some thread comes there: see `request_wakeup`.
        self.participant().parker().park();
        self.run_reached()
    }

    /// Parks until all threads have made progress to this moment.
    ///
    /// # Panics
    /// Panics if the moment belongs to another instance.
    #[doc(alias = "synchronize_rcu")]
    pub fn wait_for(&mut self, moment: Moment<'_>) {
        let value = self.progress().raw(moment);
        while !is_reached(self.progress().current(), value) {
            self.request_wakeup_at(value);
            if !is_reached(self.progress().current(), value) {
                // Liveness: as in `wait`.
                self.participant().parker().park();
            }
        }
    }

    /// Requests that the parker of this thread be unparked when all threads have made progress to
    /// this moment, and returns. If the moment is reached, it unparks at once. A thread may request
    /// several moments, and is woken for each; requesting the same one again changes nothing.
    ///
    /// # Panics
    /// Panics if the moment belongs to another instance.
    ///
    /// # Examples
    /// ```
    /// use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
    /// use progress_core::{Parker, Participant, Progress};
    ///
    /// struct Flag(AtomicBool);
    /// impl Parker for Flag {
    ///     fn park(&self) {}
    ///     fn unpark(&self) {
    ///         self.0.store(true, SeqCst);
    ///     }
    /// }
    ///
    /// let progress: Progress<(Flag, _)> = Progress::new([Participant::new(Flag(false.into()))]);
    /// let thread = progress.register()?;
    /// let reading = progress.delay();
    /// thread.wakeup(progress.later());
    /// // ... other work ...
    /// let is_woken = || progress.participants()[0].parker().0.load(SeqCst);
    /// assert!(!is_woken());
    /// drop(reading);
    /// assert!(is_woken());
    /// # Ok::<(), progress_core::TooManyParticipants>(())
    /// ```
    pub fn wakeup(&self, moment: Moment<'_>) {
        let value = self.progress().raw(moment);
        if is_reached(self.progress().current(), value) {
            self.participant().parker().unpark();
        } else {
            self.request_wakeup_at(value);
        }
    }

    /// Requests that the parker of this thread be unparked at a value, and makes progress to it if
    /// nothing delays that.
    fn request_wakeup_at(&self, value: RawWord) {
        let progress = self.progress();
        let participant = self.participant();
        let is_due = participant.set_wanted(value, progress.current());
        finally(
            || progress.request_wakeup(),
            || {
                // The leader that came to the value has seen the request, unless it came there
                // before the request was published.
                if participant.take_reached(progress.current()) || is_due {
                    participant.parker().unpark();
                }
            },
        );
    }
}

/// The thread has not been woken.
const WAITS: u8 = 0;
/// Another thread wakes it and uses its parker.
const IS_WOKEN: u8 = 1;
/// No other thread uses the frame of the thread any more.
const DONE: u8 = 2;

/// A wake-up in the frame of the thread that waits for it.
#[repr(C)]
struct Waiting<'w, W> {
    /// Changed by other threads while this one holds references.
    header: UnsafeCell<Header>,
    step: AtomicU8,
    parker: &'w W,
}

impl<'w, W: Parker + Sync> Waiting<'w, W> {
    fn new(parker: &'w W) -> Self {
        Self {
            header: UnsafeCell::new(Header::new(Self::wake)),
            step: AtomicU8::new(WAITS),
            parker,
        }
    }

    fn step(&self) -> u8 {
        // Ordering: Acquire pairs with `wake`: the last use of the frame happens before its end.
        self.step.load(Ordering::Acquire)
    }

    /// Wakes the thread.
    ///
    /// # Safety
    /// 1. `header` is the header of a value of this type, whose owner waits until its step is
    ///    `DONE`.
    unsafe fn wake(header: NonNull<Header>) {
        // SAFETY: by obligation 1 the value lives until the second store. The header is the first
        // field.
        let this = unsafe { header.cast::<Self>().as_ref() };
        let parker = this.parker;
        // Ordering: Release, for a thread that looks without having been woken. For the others the
        // parker publishes.
        this.step.store(IS_WOKEN, Ordering::Release);
        // Also if the parker panics. Not by `finally`, whose frame would hold references to this
        // one.
        let done = SetDone(&raw const this.step);
        parker.unpark();
        drop(done);
    }
}

/// Stores `DONE` when it is dropped. From then on the frame with the step may end.
struct SetDone(*const AtomicU8);

impl Drop for SetDone {
    fn drop(&mut self) {
        // Ordering: Release pairs with `Waiting::step`: all uses of the frame happen before.
        //
        // SAFETY: by obligation 1 of `wake` the step lives until this store.
        unsafe { &*self.0 }.store(DONE, Ordering::Release);
    }
}

/// Keeps the frame of a [`Waiting`] while another thread may use it, even if the parker panics.
///
/// Apart from the frame, because a drop of the frame itself would have an exclusive reference to
/// it, while the other thread changes it.
struct KeepFrame<'w>(&'w AtomicU8);

impl Drop for KeepFrame<'_> {
    fn drop(&mut self) {
        // Ordering: Acquire, as in `step`.
        //
        // Liveness: as in `wait_for`; the thread that stored `IS_WOKEN` stores `DONE` next.
        while self.0.load(Ordering::Acquire) != DONE {
            spin_loop();
        }
    }
}

impl<D: Domain> Progress<D> {
    /// Parks until all threads have made progress to this moment. Any thread may call this, with
    /// its own parker, except while it reads: it would wait for itself.
    ///
    /// A managed thread uses the parker of its participant instead, in
    /// [`ManagedThread::wait_for`].
    ///
    /// # Panics
    /// Panics if the moment belongs to another instance.
    ///
    /// # Examples
    /// ```
    /// use std::thread::{self, Thread};
    /// use progress_core::{Parker, Participant, Progress};
    /// # struct Core;
    /// # impl Parker for Core {
    /// #     fn park(&self) {}
    /// #     fn unpark(&self) {}
    /// # }
    ///
    /// struct ThisThread(Thread);
    /// impl Parker for ThisThread {
    ///     fn park(&self) {
    ///         thread::park();
    ///     }
    ///     fn unpark(&self) {
    ///         self.0.unpark();
    ///     }
    /// }
    ///
    /// let progress: Progress<(Core, _)> = Progress::new([Participant::new(Core)]);
    /// let moment = progress.later();
    /// progress.wait_for(moment, &ThisThread(thread::current()));
    /// assert!(progress.has_reached(moment));
    /// ```
    ///
    /// Another thread unparks the parker, so it must be shared:
    /// ```compile_fail,E0277
    /// use std::cell::Cell;
    /// use progress_core::{Parker, Participant, Progress};
    /// # struct Core;
    /// # impl Parker for Core {
    /// #     fn park(&self) {}
    /// #     fn unpark(&self) {}
    /// # }
    ///
    /// struct OfOneThread(Cell<bool>);
    /// impl Parker for OfOneThread {
    ///     fn park(&self) {
    ///         while !self.0.take() {}
    ///     }
    ///     fn unpark(&self) {
    ///         self.0.set(true);
    ///     }
    /// }
    ///
    /// let progress: Progress<(Core, _)> = Progress::new([Participant::new(Core)]);
    /// progress.wait_for(progress.later(), &OfOneThread(Cell::new(false)));
    /// ```
    pub fn wait_for(&self, moment: Moment<'_>, parker: &(impl Parker + Sync)) {
        if self.has_reached(moment) {
            return;
        }
        let value = self.raw(moment);
        let waiting = Waiting::new(parker);
        // Obligation 1 of `wake`: from here on the frame stays until the step is `DONE`.
        let _frame = KeepFrame(&waiting.step);
        self.add_wakeup(NonNull::from(&waiting).cast(), value);
        loop {
            match waiting.step() {
                // Liveness: the leader that comes to the value stores the step and then unparks;
                // the token stays until this thread parks. Some thread comes there: see
                // `request_wakeup`.
                WAITS => parker.park(),
                // The other thread is between two stores.
                IS_WOKEN => parker.relax(),
                _ => return,
            }
        }
    }
}
