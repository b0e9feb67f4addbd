//! A result that waits for another one.

use core::{
    marker::PhantomData,
    mem::{ManuallyDrop, forget, needs_drop},
};

use crate::{job::discard_panic, platform::Platform};

/// The result of the first half of a join, until the second half has one. If the second half
/// panics, this is dropped, and a panic of that drop is dropped, too: a second panic while the
/// first one unwinds would end the process.
pub(super) struct Unreceived<P: Platform, R> {
    result: ManuallyDrop<R>,
    platform: PhantomData<P>,
}

impl<P: Platform, R> Unreceived<P, R> {
    #[inline(always)]
    pub(super) fn new(result: R) -> Self {
        Self {
            result: ManuallyDrop::new(result),
            platform: PhantomData,
        }
    }

    /// Returns the result.
    #[inline(always)]
    pub(super) fn receive(mut self) -> R {
        // SAFETY: it is there, and `self` ends without its drop.
        let result = unsafe { ManuallyDrop::take(&mut self.result) };
        forget(self);
        result
    }
}

impl<P: Platform, R> Drop for Unreceived<P, R> {
    #[inline]
    fn drop(&mut self) {
        if needs_drop::<R>() {
            // SAFETY: it is there, since `receive` was not called, and is dropped once.
            let drop_result = || unsafe { ManuallyDrop::drop(&mut self.result) };
            if let Err(second) = P::catch_unwind(drop_result) {
                discard_panic::<P>(second);
            }
        }
    }
}
