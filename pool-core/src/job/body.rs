//! What a job on the stack runs, and what it leaves.

use core::{cell::UnsafeCell, mem::ManuallyDrop};

use super::RunBy;
use crate::platform::Platform;

/// A closure, and in its place its result once somebody has run it elsewhere.
pub(crate) struct Body<P: Platform, F, R> {
    content: UnsafeCell<Content<P, F, R>>,
}

union Content<P: Platform, F, R> {
    /// Taken by whoever runs it.
    closure: ManuallyDrop<F>,
    /// Written by whoever ran it, unless inline.
    result: ManuallyDrop<Result<R, P::Panic>>,
}

impl<P, F, R> Body<P, F, R>
where
    P: Platform,
    F: FnOnce(RunBy<'_, P>) -> R,
{
    /// If the closure is never run, it is not dropped.
    #[inline(always)]
    pub(crate) fn new(closure: F) -> Self {
        Self {
            content: UnsafeCell::new(Content {
                closure: ManuallyDrop::new(closure),
            }),
        }
    }

    /// Runs the closure and keeps what it returns, or its panic.
    ///
    /// # Safety
    /// 1. Closure and result are the caller's, and the closure has not been run.
    pub(crate) unsafe fn run_as_thief(&self) {
        // SAFETY: by obligation 1.
        unsafe {
            let closure = ManuallyDrop::take(&mut (*self.content.get()).closure);
            let result = P::catch_unwind(|| closure(RunBy::THIEF));
            self.content.get().write(Content {
                result: ManuallyDrop::new(result),
            });
        }
    }

    /// Runs the closure here. A panic passes through.
    ///
    /// # Safety
    /// 1. The closure is the caller's, and has not been run.
    #[inline(always)]
    pub(crate) unsafe fn run_inline(&self, by: RunBy<'_, P>) -> R {
        // SAFETY: by obligation 1.
        let closure = unsafe { ManuallyDrop::take(&mut (*self.content.get()).closure) };
        closure(by)
    }

    /// Drops the closure, which will not be run.
    ///
    /// # Safety
    /// 1. The closure is the caller's, and has not been run.
    /// 2. It is not used afterwards.
    pub(crate) unsafe fn drop_closure(&self) {
        // SAFETY: by 1. and 2. the closure is dropped once and not used.
        unsafe { ManuallyDrop::drop(&mut (*self.content.get()).closure) };
    }

    /// What the closure returned. Continues its panic if it panicked.
    ///
    /// # Safety
    /// 1. It was run by [`run_as_thief`](Self::run_as_thief), and what that wrote is visible.
    /// 2. This is called once.
    pub(crate) unsafe fn take_result(&self) -> R {
        // SAFETY: by obligation 1 the result was written; by 2. it is taken once.
        match unsafe { ManuallyDrop::take(&mut (*self.content.get()).result) } {
            Ok(result) => result,
            Err(panic) => P::resume_unwind(panic),
        }
    }
}
