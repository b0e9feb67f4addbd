//! The closure of a job on the stack, and then its result.

use core::mem::ManuallyDrop;

use super::JobContext;
use crate::{platform::Platform, primitive::UnsafeCell};

/// A closure, and in its place its result once another worker has run it.
pub(crate) struct Body<P: Platform, F, R> {
    content: UnsafeCell<Content<P, F, R>>,
}

union Content<P: Platform, F, R> {
    /// Taken by the worker that runs it.
    closure: ManuallyDrop<F>,
    /// Written by the worker that ran it, unless it ran inline.
    result: ManuallyDrop<Result<R, P::Panic>>,
}

impl<P, F, R> Body<P, F, R>
where
    P: Platform,
    F: FnOnce(JobContext<'_, P>) -> R,
{
    /// Creates a body with this closure, which is not dropped if it is never run.
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
        // SAFETY: 1. by our obligation 1.
        let closure = unsafe { self.take_closure() };
        let result = P::catch_unwind(|| closure(JobContext::STOLEN));
        let content = Content {
            result: ManuallyDrop::new(result),
        };
        // SAFETY: by obligation 1 the content is the caller's, and the closure was taken out.
        self.content
            .with_mut(|place| unsafe { place.write(content) });
    }

    /// Runs the closure here. A panic passes through.
    ///
    /// # Safety
    /// 1. The closure is the caller's, and has not been run.
    #[inline(always)]
    pub(crate) unsafe fn run_inline(&self, context: JobContext<'_, P>) -> R {
        // SAFETY: 1. by our obligation 1.
        let closure = unsafe { self.take_closure() };
        closure(context)
    }

    /// Takes the closure out.
    ///
    /// # Safety
    /// 1. The closure is the caller's, and has neither been run nor dropped.
    #[inline(always)]
    unsafe fn take_closure(&self) -> F {
        // SAFETY: by obligation 1 the content is the closure, and it is taken once.
        self.content
            .with_mut(|content| unsafe { ManuallyDrop::take(&mut (*content).closure) })
    }

    /// Drops the closure, which will not be run.
    ///
    /// # Safety
    /// 1. The closure is the caller's, and has not been run.
    /// 2. It is not used afterwards.
    pub(crate) unsafe fn drop_closure(&self) {
        // SAFETY: 1. is forwarded to our caller.
        drop(unsafe { self.take_closure() });
    }

    /// Returns what the closure returned. Continues its panic if it panicked.
    ///
    /// # Safety
    /// 1. The closure was run by [`run_as_thief`](Self::run_as_thief), and what that wrote is
    ///    visible.
    /// 2. This is called once.
    pub(crate) unsafe fn take_result(&self) -> R {
        // SAFETY: by obligation 1 the result was written; by 2. it is taken once.
        let take =
            |content: *mut Content<P, F, R>| unsafe { ManuallyDrop::take(&mut (*content).result) };
        match self.content.with_mut(take) {
            Ok(result) => result,
            Err(panic) => P::resume_unwind(panic),
        }
    }
}
