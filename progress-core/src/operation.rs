//! Operations for later: what a thread does when all threads have made progress.

#[cfg(feature = "alloc")]
use alloc::boxed::Box;
use core::{
    fmt, mem,
    ptr::{self, NonNull},
};

use sleep_primitives::RawWord;

use crate::queue::Queue;

/// A closure that is run once, when all threads have made progress, with space for the link of a
/// queue.
///
/// The creator owns it and passes it to [`ManagedThread::schedule`], as a `&'static mut` or in a
/// box (feature `alloc`).
///
/// [`ManagedThread::schedule`]: crate::ManagedThread::schedule
///
/// # Examples
/// ```
/// use progress_core::{Operation, Parker, Participant, Progress};
/// struct Core;
/// impl Parker for Core {
///     fn park(&self) {}
///     fn unpark(&self) {}
/// }
///
/// let participants = [const { Participant::new(Core) }; 1];
/// let progress: Progress<(Core, _)> = Progress::new(participants);
/// let mut this_thread = progress.register()?;
/// // With its own room for the link of a queue. On bare metal it is in a `static`.
/// this_thread.schedule(Box::new(Operation::new(|| println!("all threads have let go"))));
/// while this_thread.pending() > 0 {
///     this_thread.wait();
/// }
/// # Ok::<(), progress_core::TooManyParticipants>(())
/// ```
#[repr(C)]
pub struct Operation<F> {
    header: Header,
    closure: Option<F>,
}

/// The part of an operation that does not depend on its closure.
pub struct Header {
    next: *mut Header,
    value: RawWord,
    run: unsafe fn(NonNull<Header>),
}

impl fmt::Debug for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Header")
            .field("value", &self.value)
            .finish_non_exhaustive()
    }
}

impl Header {
    /// Creates the header of an operation that this function runs. The function receives the
    /// header.
    pub(crate) const fn new(run: unsafe fn(NonNull<Self>)) -> Self {
        Self {
            next: ptr::null_mut(),
            value: 0,
            run,
        }
    }

    /// Returns the address of the operation after this one.
    pub(crate) const fn next(&self) -> *mut Self {
        self.next
    }

    pub(crate) const fn set_next(&mut self, next: *mut Self) {
        self.next = next;
    }

    /// Returns the value at which the operation may be run.
    pub(crate) const fn value(&self) -> RawWord {
        self.value
    }

    pub(crate) const fn set_value(&mut self, value: RawWord) {
        self.value = value;
    }
}

// SAFETY: only the owner of an operation uses its link, and it has one owner at a time.
unsafe impl<F: Send> Send for Operation<F> {}

impl<F: FnOnce() + Send + 'static> Operation<F> {
    /// Creates an operation. One that is stored in place is scheduled as a `&'static mut`.
    pub const fn new(closure: F) -> Self {
        Self {
            header: Header::new(Self::run_in_place),
            closure: Some(closure),
        }
    }

    /// Runs the closure and leaves the operation where it is.
    ///
    /// # Safety
    /// 1. `header` is the header of an operation of this type, which the caller owns.
    unsafe fn run_in_place(header: NonNull<Header>) {
        // SAFETY: by obligation 1; the header is the first field.
        let closure = unsafe { header.cast::<Self>().as_mut() }.closure.take();
        if let Some(closure) = closure {
            closure();
        }
    }

    /// Runs the closure and frees the box.
    ///
    /// # Safety
    /// 1. `header` is the header of a box of this type, which the caller owns and gives up.
    #[cfg(feature = "alloc")]
    unsafe fn run_and_free(header: NonNull<Header>) {
        // SAFETY: by obligation 1; the header is the first field.
        let this = unsafe { Box::from_raw(header.cast::<Self>().as_ptr()) };
        if let Some(closure) = this.closure {
            closure();
        }
    }
}

impl<F> fmt::Debug for Operation<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Operation").finish_non_exhaustive()
    }
}

/// An operation that its owner gives away: `&'static mut Operation<F>`, or `Box<Operation<F>>` with
/// the feature `alloc`.
///
/// # Examples
/// ```
/// use progress_core::{Operation, Parker, Participant, Progress};
/// struct Core;
/// impl Parker for Core {
///     fn park(&self) {}
///     fn unpark(&self) {}
/// }
///
/// let participants = [const { Participant::new(Core) }; 1];
/// let progress: Progress<(Core, _)> = Progress::new(participants);
/// let operation = Box::leak(Box::new(Operation::new(|| ())));
/// progress.schedule(operation); // a `&'static mut`; a box is one, too
/// progress.run_reached();
/// # Ok::<(), progress_core::TooManyParticipants>(())
/// ```
pub trait IntoOperation: sealed::Sealed {
    #[doc(hidden)]
    fn into_header(self) -> NonNull<Header>;
}

impl<F: FnOnce() + Send + 'static> IntoOperation for &'static mut Operation<F> {
    fn into_header(self) -> NonNull<Header> {
        NonNull::from(self).cast()
    }
}

#[cfg(feature = "alloc")]
impl<F: FnOnce() + Send + 'static> IntoOperation for Box<Operation<F>> {
    fn into_header(mut self) -> NonNull<Header> {
        self.header.run = Operation::<F>::run_and_free;
        NonNull::from(Box::leak(self)).cast()
    }
}

pub(crate) mod sealed {
    pub trait Sealed {}
    impl<F> Sealed for &'static mut super::Operation<F> {}
    #[cfg(feature = "alloc")]
    impl<F> Sealed for alloc::boxed::Box<super::Operation<F>> {}
}

/// Runs an operation that is no longer in any queue.
pub(crate) fn run(operation: NonNull<Header>) {
    // SAFETY: obligation 1: the caller took the operation out of the only queue that held it, so it
    // owns the operation.
    unsafe { (operation.as_ref().run)(operation) };
}

/// Operations that are not scheduled yet, in their order.
///
/// [`ManagedThread::schedule`](crate::ManagedThread::schedule) needs exclusive access to the
/// thread. A thread that must be usable while an operation is added, such as a pool's worker,
/// collects operations here. It [schedules](crate::ManagedThread::schedule_all) them in the end:
/// operations in a dropped list are leaked and never run, because other threads may still be
/// reading.
///
/// # Examples
/// ```
/// use progress_core::{Operation, Operations, Parker, Participant, Progress};
/// struct Core;
/// impl Parker for Core {
///     fn park(&self) {}
///     fn unpark(&self) {}
/// }
///
/// let participants = [const { Participant::new(Core) }; 1];
/// let progress: Progress<(Core, _)> = Progress::new(participants);
/// let mut collected = Operations::new();
/// collected.push(Box::new(Operation::new(|| ())));
/// collected.push(Box::new(Operation::new(|| ())));
/// let mut this_thread = progress.register()?;
/// this_thread.schedule_all(collected);
/// assert_eq!(this_thread.pending(), 2);
/// # Ok::<(), progress_core::TooManyParticipants>(())
/// ```
#[derive(Default)]
pub struct Operations {
    pub(crate) queue: Queue,
}

impl Operations {
    /// Creates an empty list.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            queue: Queue::new(),
        }
    }

    /// Adds an operation at the end.
    pub fn push(&mut self, operation: impl IntoOperation) {
        // The value is written when the operation is scheduled.
        self.queue.push(operation.into_header(), 0);
    }

    /// Returns the number of operations.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.queue.len()
    }

    /// Whether the list is empty.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl fmt::Debug for Operations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Operations")
            .field("len", &self.len())
            .finish()
    }
}

/// An operation whose time has come, taken out of the queue of its thread by
/// [`ManagedThread::take_due`](crate::ManagedThread::take_due).
///
/// The operation is run exactly once. A drop runs it too.
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
/// let mut this_thread = progress.register()?;
/// this_thread.defer(|| println!("all threads have let go"));
/// while this_thread.pending() > 0 {
///     match this_thread.take_due() {
///         Some(due) => due.run(), // while `this_thread` can be used
///         None => _ = this_thread.wait(),
///     }
/// }
/// # Ok::<(), progress_core::TooManyParticipants>(())
/// ```
pub struct DueOperation {
    header: NonNull<Header>,
}

impl DueOperation {
    /// Takes over an operation that is no longer in any queue.
    pub(crate) const fn new(header: NonNull<Header>) -> Self {
        Self { header }
    }

    /// Runs the operation.
    pub fn run(self) {
        let header = self.header;
        mem::forget(self);
        run(header);
    }
}

impl Drop for DueOperation {
    fn drop(&mut self) {
        run(self.header);
    }
}

impl fmt::Debug for DueOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DueOperation").finish_non_exhaustive()
    }
}
