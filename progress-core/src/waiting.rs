//! A thread that waits, managed or not.

use core::{cell::UnsafeCell, ptr::NonNull};

use sleep_core::Parker;
use sleep_primitives::{AtomicU8, Ordering, spin_loop};

use crate::{Domain, Moment, Progress, operation::Header};

/// The thread has not been woken.
const WAITS: u8 = 0;
/// The thread is being woken: its parker is used.
const IS_WOKEN: u8 = 1;
/// Nothing of the thread's frame is used any more.
const DONE: u8 = 2;

/// A wake-up in the frame of a thread that waits for it.
#[repr(C)]
struct Waiting<'w, W> {
    /// Changed by other threads while this one holds references.
    header: UnsafeCell<Header>,
    step: AtomicU8,
    parker: &'w W,
}

impl<'w, W: Parker> Waiting<'w, W> {
    fn new(parker: &'w W) -> Self {
        Self {
            header: UnsafeCell::new(Header::new(Self::wake)),
            step: AtomicU8::new(WAITS),
            parker,
        }
    }

    fn step(&self) -> u8 {
        // Ordering: Acquire pairs with `wake`: the frame may go when the last use was before.
        self.step.load(Ordering::Acquire)
    }

    /// # Safety
    /// 1. `header` is that of a value of this type, whose owner waits until its step is `DONE`.
    unsafe fn wake(header: NonNull<Header>) {
        // SAFETY: by obligation 1 it lives until the second store; the header is the first field.
        let this = unsafe { header.cast::<Self>().as_ref() };
        let parker = this.parker;
        // Ordering: Release, though the parker brings the news too, for a thread that looks without
        // having been woken.
        this.step.store(IS_WOKEN, Ordering::Release);
        parker.unpark();
        // Ordering: Release pairs with `step`: all uses of the frame lie before.
        this.step.store(DONE, Ordering::Release);
    }
}

/// The thread does not leave, not even by a panic of its parker, while its frame may be used.
impl<W> Drop for Waiting<'_, W> {
    fn drop(&mut self) {
        // Ordering: Acquire, as in `step`.
        while self.step.load(Ordering::Acquire) != DONE {
            spin_loop();
        }
    }
}

impl<D: Domain> Progress<D> {
    /// Parks until all threads have made progress to this moment. Any thread may call this, with
    /// a parker of its own, but not while it reads: it would wait for itself.
    ///
    /// A managed thread has a parker in its line, for
    /// [`ManagedThread::wait_for`](crate::ManagedThread::wait_for).
    ///
    /// # Panics
    /// If the value is another instance's.
    ///
    /// # Examples
    /// ```
    /// use std::thread::{self, Thread};
    /// use progress_core::{Participant, Progress};
    /// use sleep_core::Parker;
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
    /// let value = progress.later();
    /// progress.wait_for(value, &ThisThread(thread::current()));
    /// assert!(progress.has_reached(value));
    /// ```
    pub fn wait_for(&self, moment: Moment<'_>, parker: &impl Parker) {
        if self.has_reached(moment) {
            return;
        }
        let raw = self.raw(moment);
        let waiting = Waiting::new(parker);
        // SAFETY of `wake`: 1. from here on the frame stays until the step is `DONE`, see `drop`.
        self.add_wakeup(NonNull::from(&waiting).cast(), raw);
        loop {
            match waiting.step() {
                // Liveness: the leader that comes to the value stores the step and then unparks;
                // the token stays until we park. Some thread comes there: see `request_wakeup`.
                WAITS => parker.park(),
                // The other thread is between two stores.
                IS_WOKEN => parker.relax(),
                _ => return,
            }
        }
    }
}
