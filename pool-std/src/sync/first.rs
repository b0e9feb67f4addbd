//! A static that any thread may initialize, and for which no thread waits.

use std::{
    ptr,
    sync::atomic::{AtomicPtr, Ordering},
};

#[cfg(test)]
mod tests;

/// A static that any thread may initialize. The first value counts, and is never freed.
///
/// With a `OnceLock`, the other threads wait for the one that initializes it, and a child of a
/// process that forks meanwhile waits forever.
pub(crate) struct First<T: 'static>(AtomicPtr<T>);

impl<T: Send + Sync> First<T> {
    pub(crate) const fn new() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }

    /// Returns the value, if there is one.
    #[inline]
    pub(crate) fn get(&self) -> Option<&'static T> {
        // Ordering: Acquire pairs with the Release of `set`: the fields are visible.
        let value = self.0.load(Ordering::Acquire);
        // SAFETY: it is null, or comes from a box that is never freed.
        unsafe { value.as_ref() }
    }

    /// Returns the value. If there is none yet, makes one, which is dropped if another thread comes
    /// first.
    #[inline]
    pub(crate) fn get_or_set(&self, make: impl FnOnce() -> T) -> &'static T {
        match self.get() {
            Some(value) => value,
            None => self.set(make()),
        }
    }

    #[cold]
    fn set(&self, value: T) -> &'static T {
        let new = Box::into_raw(Box::new(value));
        // Ordering: Release pairs with the Acquire of `get`. Acquire on failure, for the value of
        // the thread that has come first.
        let exchange =
            self.0
                .compare_exchange(ptr::null_mut(), new, Ordering::Release, Ordering::Acquire);
        let first = match exchange {
            Ok(_) => new,
            Err(first) => {
                // SAFETY: it comes from a box, and no other thread has seen it.
                drop(unsafe { Box::from_raw(new) });
                first
            }
        };
        // SAFETY: it comes from a box that is never freed.
        unsafe { &*first }
    }
}
