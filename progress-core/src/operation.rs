//! Operations for later: what is to be done when all threads have made progress.

#[cfg(feature = "alloc")]
use alloc::boxed::Box;
use core::{
    mem,
    ptr::{self, NonNull},
};

use crate::moment::is_reached;
use sleep_primitives::RawWord;

/// A closure that is run when all threads have made progress, with room for the place in a queue.
///
/// Owned by whoever makes it, until it is given to [`ManagedThread::schedule`], in a place that
/// stays for ever or in a box (feature `alloc`). It is run exactly once.
///
/// [`ManagedThread::schedule`]: crate::ManagedThread::schedule
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

impl Header {
    /// Of an operation that this function runs. It is handed the header that it is in.
    pub(crate) const fn new(run: unsafe fn(NonNull<Self>)) -> Self {
        Self {
            next: ptr::null_mut(),
            value: 0,
            run,
        }
    }

    /// The operation after this one, where it is.
    pub(crate) const fn next(&self) -> *mut Self {
        self.next
    }

    pub(crate) const fn set_next(&mut self, next: *mut Self) {
        self.next = next;
    }

    /// The value at which it may be run.
    pub(crate) const fn value(&self) -> RawWord {
        self.value
    }
}

// SAFETY: the links are used by whoever has the operation, one at a time.
unsafe impl<F: Send> Send for Operation<F> {}

impl<F: FnOnce() + Send + 'static> Operation<F> {
    /// An operation in a place that stays; it may be scheduled as a `&'static mut`.
    pub const fn new(closure: F) -> Self {
        Self {
            header: Header::new(Self::run_in_place),
            closure: Some(closure),
        }
    }

    /// # Safety
    /// 1. `header` is that of an operation of this type, which the caller has for itself.
    unsafe fn run_in_place(header: NonNull<Header>) {
        // SAFETY: by obligation 1; the header is the first field.
        let closure = unsafe { header.cast::<Self>().as_mut() }.closure.take();
        if let Some(closure) = closure {
            closure();
        }
    }

    /// # Safety
    /// 1. `header` is that of a box of this type, which the caller has for itself and gives up.
    #[cfg(feature = "alloc")]
    unsafe fn run_and_free(header: NonNull<Header>) {
        // SAFETY: by obligation 1; the header is the first field.
        let this = unsafe { Box::from_raw(header.cast::<Self>().as_ptr()) };
        if let Some(closure) = this.closure {
            closure();
        }
    }
}

/// An operation that is given away: `&'static mut Operation<F>`, or with the feature `alloc`
/// `Box<Operation<F>>`.
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

/// A thread's operations in the order of their scheduling.
pub(crate) struct Queue {
    first: *mut Header,
    last: *mut Header,
    length: usize,
}

impl Queue {
    pub(crate) const fn new() -> Self {
        Self {
            first: ptr::null_mut(),
            last: ptr::null_mut(),
            length: 0,
        }
    }

    pub(crate) const fn len(&self) -> usize {
        self.length
    }

    /// Adds an operation that may be run at this value. The queue has it now.
    pub(crate) fn push(&mut self, mut operation: NonNull<Header>, value: RawWord) {
        // SAFETY: given away by `IntoOperation`, or taken from another queue.
        let header = unsafe { operation.as_mut() };
        header.next = ptr::null_mut();
        header.value = value;
        // SAFETY: the last operation is in the queue, so it is ours.
        match unsafe { self.last.as_mut() } {
            Some(last) => last.next = operation.as_ptr(),
            None => self.first = operation.as_ptr(),
        }
        self.last = operation.as_ptr();
        self.length += 1;
    }

    /// The value at which the first operation may be run.
    pub(crate) fn first_value(&self) -> Option<RawWord> {
        // SAFETY: it is in the queue, so it is ours.
        unsafe { self.first.as_ref() }.map(|first| first.value)
    }

    /// Moves all operations of another queue to the end of this one; they may be run at this value.
    pub(crate) fn append(&mut self, other: &mut Self, value: RawWord) {
        while let Some(operation) = other.pop() {
            self.push(operation, value);
        }
    }

    pub(crate) fn pop(&mut self) -> Option<NonNull<Header>> {
        let first = NonNull::new(self.first)?;
        // SAFETY: it is in the queue, so it is ours.
        self.first = unsafe { first.as_ref() }.next;
        if self.first.is_null() {
            self.last = ptr::null_mut();
        }
        self.length -= 1;
        Some(first)
    }

    /// Takes out all operations: the first and the last one.
    pub(crate) fn take_chain(&mut self) -> Option<(NonNull<Header>, NonNull<Header>)> {
        let queue = mem::take(self);
        Some((NonNull::new(queue.first)?, NonNull::new(queue.last)?))
    }

    /// Takes out the first operation, if progress has come to its value.
    pub(crate) fn pop_reached(&mut self, current: RawWord) -> Option<NonNull<Header>> {
        self.first_value()
            .filter(|value| is_reached(current, *value))?;
        self.pop()
    }
}

impl Default for Queue {
    fn default() -> Self {
        Self::new()
    }
}

/// Runs an operation that is in no queue any more.
pub(crate) fn run(operation: NonNull<Header>) {
    // SAFETY: 1. the caller has taken it out of the one queue that it was in.
    unsafe { (operation.as_ref().run)(operation) };
}
