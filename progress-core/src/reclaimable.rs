//! Values that readers may see until progress frees them.

use alloc::boxed::Box;
use core::{
    cell::UnsafeCell,
    fmt,
    ops::{Deref, DerefMut},
    ptr::NonNull,
};

use crate::{
    Active, Domain, ManagedThread, Progress,
    operation::{Header, IntoOperation, sealed::Sealed},
};

/// A value that readers may see until progress frees it, with space for the link of a queue, so
/// that freeing it needs no other memory.
///
/// The owner boxes it, publishes its pointer, unlinks it again, and then passes it to
/// [`ManagedThread::retire`], which drops it in time.
///
/// # Examples
/// ```
/// use std::sync::atomic::{AtomicPtr, Ordering};
/// use progress_core::{Parker, Participant, Progress, Reclaimable};
/// struct Core;
/// impl Parker for Core {
///     fn park(&self) {}
///     fn unpark(&self) {}
/// }
///
/// let progress: Progress<(Core, _)> = Progress::new([Participant::new(Core)]);
/// let shared = AtomicPtr::new(Box::into_raw(Box::new(Reclaimable::new(1))));
///
/// // A reader, on any thread.
/// {
///     let _delay = progress.delay();
///     // SAFETY: the value cannot be freed before the delay ends.
///     let value = unsafe { &*shared.load(Ordering::Acquire) };
///     assert_eq!(**value, 1);
/// }
///
/// // A writer.
/// let mut this_thread = progress.register()?;
/// let new = Box::into_raw(Box::new(Reclaimable::new(2)));
/// let old = shared.swap(new, Ordering::AcqRel);
/// // SAFETY: obligation 1: the value came from a box. Obligation 2: no thread finds it any more.
/// unsafe { this_thread.retire(old) };
/// assert_eq!(this_thread.wait(), 1);
/// # // SAFETY: this is the last value, and no thread reads.
/// # drop(unsafe { Box::from_raw(shared.into_inner()) });
/// # Ok::<(), progress_core::TooManyParticipants>(())
/// ```
#[repr(C)]
#[doc(alias = "Owned")]
pub struct Reclaimable<T> {
    /// Not for readers: the header changes while they may still hold references.
    header: UnsafeCell<Header>,
    value: T,
}

impl<T> Reclaimable<T> {
    /// Creates a value that no other thread sees yet.
    pub const fn new(value: T) -> Self {
        Self {
            header: UnsafeCell::new(Header::new(Self::free)),
            value,
        }
    }

    /// Returns the value.
    pub fn into_inner(self) -> T {
        self.value
    }

    /// Returns the operation that drops a value, for the `schedule` of threads and instances.
    ///
    /// # Safety
    /// 1. and 2. as for [`ManagedThread::retire`], for the call that schedules the operation.
    /// 3. No call of [`Progress::wakeup`] gets the operation. It runs it at a moment that may have
    ///    been requested while the value was in reach.
    pub unsafe fn into_operation(value: *mut Self) -> impl IntoOperation
    where
        T: Send + 'static,
    {
        Retired(value)
    }

    /// Frees a boxed value.
    ///
    /// # Safety
    /// 1. `header` is the header of a box of this type, which the caller owns and gives up.
    unsafe fn free(header: NonNull<Header>) {
        // SAFETY: by obligation 1; the header is the first field.
        drop(unsafe { Box::from_raw(header.cast::<Self>().as_ptr()) });
    }
}

impl<T> Deref for Reclaimable<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for Reclaimable<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

// SAFETY: only the owner of a retired value uses its link.
unsafe impl<T: Send> Send for Reclaimable<T> {}
// SAFETY: readers see the value and nothing else.
unsafe impl<T: Sync> Sync for Reclaimable<T> {}

impl<T: fmt::Debug> fmt::Debug for Reclaimable<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Reclaimable").field(&self.value).finish()
    }
}

impl<D: Domain> Progress<D> {
    /// Schedules the drop of a value for when all threads have made progress, as
    /// [`schedule`](Self::schedule) does. Needs no other memory.
    ///
    /// # Safety
    /// 1. `value` came from [`Box::into_raw`] and is passed to this function once.
    /// 2. A thread that begins to read when this call has begun does not find it: the call may free
    ///    it.
    pub unsafe fn retire<T: Send + 'static>(&self, value: *mut Reclaimable<T>) {
        self.schedule(Retired(value));
    }
}

impl<D: Domain> ManagedThread<'_, D> {
    /// Schedules the drop of a value for when all threads have made progress, as
    /// [`schedule`](Self::schedule) does. Needs no other memory.
    ///
    /// # Safety
    /// 1. `value` came from [`Box::into_raw`] and is passed to this function once.
    /// 2. A thread that begins to read when this call has begun does not find it: the call may free
    ///    it.
    pub unsafe fn retire<T: Send + 'static>(&mut self, value: *mut Reclaimable<T>) {
        self.schedule(Retired(value));
    }
}

impl<D: Domain> Active<'_, '_, D> {
    /// Schedules the drop of a value. See [`ManagedThread::retire`].
    ///
    /// # Safety
    /// 1. and 2. as for [`ManagedThread::retire`].
    pub unsafe fn retire<T: Send + 'static>(&mut self, value: *mut Reclaimable<T>) {
        self.schedule(Retired(value));
    }
}

/// A value that was retired and that readers may still see.
struct Retired<T>(*mut Reclaimable<T>);

impl<T> IntoOperation for Retired<T> {
    fn into_header(self) -> NonNull<Header> {
        // SAFETY: by obligation 1 of `retire` the pointer is not null.
        unsafe { NonNull::new_unchecked(self.0) }.cast()
    }
}

impl<T> Sealed for Retired<T> {}
