//! A static that has one value per process: a child does not use the value of its parent.

use std::{
    ops::Deref,
    ptr,
    sync::atomic::{AtomicPtr, Ordering},
};

use super::{Process, watch};

/// A static whose value, and the locks in it, are not used by a child of the process: a thread that
/// does not exist in the child may hold the locks.
///
/// The values are never freed, because a thread that has read the pointer may use the value at any
/// later time.
pub(crate) struct PerProcess<T> {
    /// The value that was used last: that of this process or of an ancestor, or null.
    known: AtomicPtr<Here<T>>,
}

/// The value of one process.
pub(crate) struct Here<T> {
    process: Process,
    value: T,
}

impl<T> Deref for Here<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: Default> PerProcess<T> {
    pub(crate) const fn new() -> Self {
        Self {
            known: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Returns the value of this process.
    #[inline]
    pub(crate) fn here(&self) -> &'static Here<T> {
        let process = Process::current();
        loop {
            match self.last() {
                Some(last) if last.process == process => return last,
                last => self.replace(last),
            }
        }
    }

    /// Returns the value of this process, unless the one that was used last is that of an ancestor.
    #[cfg_attr(
        not(feature = "trace"),
        expect(dead_code, reason = "for the file of a trace")
    )]
    pub(crate) fn here_unless_inherited(&self) -> Option<&'static Here<T>> {
        let is_inherited = |last: &Here<T>| last.process != Process::current();
        (!self.last().is_some_and(is_inherited)).then(|| self.here())
    }

    fn last(&self) -> Option<&'static Here<T>> {
        // Ordering: Acquire pairs with the Release of `replace`: the fields are visible.
        let known = self.known.load(Ordering::Acquire);
        // SAFETY: it is null, or comes from a box that is never freed.
        unsafe { known.as_ref() }
    }

    /// Replaces the value that was used last with a new one, unless another thread has already done
    /// so.
    #[cold]
    pub(crate) fn replace(&self, last: Option<&'static Here<T>>) {
        watch();
        let known = last.map_or(ptr::null(), ptr::from_ref).cast_mut();
        let new = Box::into_raw(Box::new(Here {
            process: Process::current(),
            value: T::default(),
        }));
        // Ordering: Release pairs with the Acquire of `last`. Relaxed on failure: nothing is read.
        let replaced =
            self.known
                .compare_exchange(known, new, Ordering::Release, Ordering::Relaxed);
        if replaced.is_err() {
            // SAFETY: it comes from a box, and no other thread has seen it.
            drop(unsafe { Box::from_raw(new) });
        }
    }
}
