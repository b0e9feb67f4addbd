//! A value of each thread, which follows jobs to the threads that run them.
//!
//! A program sets [`TLV`] on its thread, usually to the address of a context in its frame, and
//! resets it before that frame ends. The closures of a join, the jobs of a scope, and the closures
//! of [`install`](crate::ThreadPool::install) and [`broadcast`](crate::broadcast()) find the value
//! there that their caller had, because the caller waits for them and so keeps the frame. Jobs that
//! no caller waits for ([`spawn`](crate::spawn()), [`spawn_fifo`](crate::spawn_fifo),
//! [`spawn_broadcast`](crate::spawn_broadcast)) find a null pointer.
//!
//! A job that ends, by a panic too, leaves the value of its thread as it was before. So a worker
//! that runs other jobs while it waits has its own value afterwards.

use std::{cell::Cell, ptr};

thread_local! {
    /// The value of this thread. Null at first.
    ///
    /// # Examples
    /// ```
    /// use rayon_core::{join, tlv::TLV};
    ///
    /// let context = String::from("shared by both");
    /// let before = TLV.replace((&raw const context).cast());
    /// let length = || {
    ///     // SAFETY: both closures run before `context` is dropped, and share it.
    ///     unsafe { TLV.get().cast::<String>().as_ref() }.map_or(0, String::len)
    /// };
    /// assert_eq!(join(length, length), (14, 14));
    /// TLV.set(before);
    /// ```
    pub static TLV: Cell<*const ()> = const { Cell::new(ptr::null()) };
}

/// A value that a job runs with.
#[derive(Clone, Copy)]
pub(crate) struct Value(*const ());

// SAFETY: this crate passes the pointer on and reads nothing through it. A program that does must
// keep what it points to, and share it only as its type allows.
unsafe impl Send for Value {}
// SAFETY: as above.
unsafe impl Sync for Value {}

impl Value {
    /// The value of a job that no caller waits for.
    pub(crate) const NULL: Self = Self(ptr::null());

    /// Returns the value of this thread.
    #[inline]
    pub(crate) fn current() -> Self {
        Self(TLV.get())
    }

    /// Calls a closure with this value, and restores the thread's value when the closure returns or
    /// panics.
    #[inline]
    pub(crate) fn with<R>(self, closure: impl FnOnce() -> R) -> R {
        let _restore = Restore(TLV.replace(self.0));
        closure()
    }
}

/// Sets the value of this thread when it is dropped.
struct Restore(*const ());

impl Drop for Restore {
    #[inline]
    fn drop(&mut self) {
        TLV.set(self.0);
    }
}
