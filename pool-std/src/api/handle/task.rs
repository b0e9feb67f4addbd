//! A job whose result is kept for a handle: closure, result and state in one allocation.

use std::{
    cell::UnsafeCell,
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
    ptr,
};

use pool_core::HandleState;

use super::{JoinError, waiter::Waiter};
use crate::{
    api::job_memory,
    panics::{Panic, drop_quietly},
    platform::{Registry, WorkerThread},
};

#[cfg(test)]
mod tests;

/// The state of a task.
pub(super) type State = HandleState<Box<Waiter>>;

/// What is in the place of a closure, and of its result.
enum Content<F, T> {
    Closure(F),
    Result(Result<T, JoinError>),
    /// Taken.
    Nothing,
}

/// A job whose result is kept for a handle. `kind` is what its queue needs, and comes first.
///
/// It is shared by two owners, see [`State`].
#[repr(C)]
pub(super) struct Task<K, F, T> {
    pub(super) kind: K,
    state: State,
    content: UnsafeCell<Content<F, T>>,
}

/// A task as its handle knows it. The methods are for the owner of the handle.
pub(super) trait AnyTask<T> {
    fn state(&self) -> &State;

    /// Whether one worker runs the job from its beginning to its end. A wait for such a job ends by
    /// a worker of the job's pool, and by nothing from outside.
    fn is_run_at_once(&self) -> bool {
        true
    }

    /// Waits until a job that workers run again and again is done, on a worker of the job's pool in
    /// an isolated call. Calls `run`, which [runs](Self::run_here) the job, each time that it can
    /// go on. For any other job, does nothing.
    fn await_here(&self, _run: &dyn Fn()) {}

    /// Runs jobs of this worker, which is one of the job's pool, until the job is done. If the
    /// worker meets the job in its own deque, ends the task, and returns its result.
    ///
    /// # Safety
    /// 1. The task lives by its handle, which has no waiter, and is not used any more if there is a
    ///    result.
    unsafe fn join_on(this: *mut Self, worker: &WorkerThread) -> Option<Result<T, JoinError>>
    where
        Self: Sized,
    {
        // No queue has a reference to the task itself.
        //
        // SAFETY: by obligation 1 it lives.
        while !unsafe { (*this).state() }.is_done() && worker.help_local(ptr::null(), || ()) {}
        None
    }

    /// Runs the job on this thread, a worker of this pool, which is the job's, if it has not begun
    /// and can be run so. Does not unwind.
    fn run_here(&self, registry: &Registry);

    /// Drops the closure, if the job has not begun. Returns whether it did.
    ///
    /// # Panics
    /// Continues a panic of the drop. The job is aborted all the same.
    fn abort(&self) -> bool;

    /// Takes the result.
    ///
    /// # Safety
    /// 1. The job [is done](State::is_done), and this is the only call.
    unsafe fn take_result(&self) -> Result<T, JoinError>;
}

impl<K, F, T> Task<K, F, T> {
    /// Creates a job, in memory that its last owner frees.
    #[inline]
    pub(super) fn create(kind: K, closure: F) -> *mut Self {
        job_memory::put(Self {
            kind,
            state: State::new(),
            content: UnsafeCell::new(Content::Closure(closure)),
        })
    }

    pub(super) fn state(&self) -> &State {
        &self.state
    }

    /// Puts something in the place of the content.
    ///
    /// # Safety
    /// 1. The content is the caller's.
    #[inline]
    unsafe fn replace(&self, content: Content<F, T>) -> Content<F, T> {
        // SAFETY: by obligation 1.
        unsafe { mem::replace(&mut *self.content.get(), content) }
    }

    /// Calls the closure, if the job has not begun, and keeps its result. Returns what was to call
    /// it otherwise, whose drop may panic.
    fn call<C: FnOnce(F) -> T>(&self, call: C) -> Option<C> {
        if !self.state.claim() {
            return Some(call);
        }
        // SAFETY: 1. it was claimed, just now.
        let Content::Closure(closure) = (unsafe { self.replace(Content::Nothing) }) else {
            unreachable!("only the first claim takes the closure");
        };
        let result = catch_unwind(AssertUnwindSafe(|| call(closure)));
        // SAFETY: 1. it is ours until the job is done.
        drop(unsafe { self.replace(Content::Result(result.map_err(JoinError::panicked))) });
        None
    }

    /// Runs the job if it has not begun, and tells the owner of the handle. For that owner.
    ///
    /// # Errors
    /// The panic of a waker.
    pub(super) fn run_here(&self, call: impl FnOnce(F) -> T) -> Result<(), Panic> {
        let has_run = self.call(call).is_none();
        // SAFETY: 1. if it has run, the job was claimed.
        let waiter = has_run.then(|| unsafe { self.state.finish() });
        match waiter.flatten() {
            Some(waiter) => catch_unwind(AssertUnwindSafe(|| waiter.wake())),
            None => Ok(()),
        }
    }

    /// Runs the job if it has not begun, tells the owner of the handle, and ends the queue's
    /// reference.
    ///
    /// # Errors
    /// What the panic handler should get: the panic of a job whose handle is gone, or of code of
    /// the user at its end.
    ///
    /// # Safety
    /// 1. The task lives, by the reference in its queue, which is not used any more.
    pub(super) unsafe fn run(this: *mut Self, call: impl FnOnce(F) -> T) -> Result<(), Panic> {
        // SAFETY: by obligation 1 it lives until we leave.
        let state = unsafe { &raw const (*this).state };
        // SAFETY: as above.
        let unused = unsafe { (*this).call(call) };
        let has_run = unused.is_none();
        let mut waiter = None;
        // SAFETY: 1. by our obligation 1; if it leaves, the task is not used unless we are the
        // last; 2. the job was claimed.
        let is_last = has_run
            .then(|| unsafe { State::finish_and_leave(state) })
            .flatten();
        let is_last = is_last.unwrap_or_else(|| {
            if has_run {
                // SAFETY: as above: we have not left. 1. It was claimed, and has not finished.
                waiter = unsafe { (*state).finish() };
            }
            // SAFETY: 1. as above.
            unsafe { State::leave_queue(state) }
        });
        // The last owner first, because a waker may panic.
        let freed = if is_last {
            // SAFETY: 1. both have left.
            unsafe { Self::free(this) }
        } else {
            Ok(())
        };
        let dropped = unused.map_or(Ok(()), |unused| {
            catch_unwind(AssertUnwindSafe(|| drop(unused)))
        });
        let woken = waiter.map_or(Ok(()), |waiter| {
            catch_unwind(AssertUnwindSafe(|| waiter.wake()))
        });
        // That of a job whose handle has gone meanwhile comes before a waker's.
        first_panic(first_panic(freed, dropped), woken)
    }

    /// Takes the task apart, and frees it. Returns the kind, and the closure, or the result if the
    /// job was aborted.
    ///
    /// # Safety
    /// 1. The caller has both references, and uses neither any more. None of them leaves a waiter.
    pub(super) unsafe fn take_apart(this: *mut Self) -> (K, Result<F, Result<T, JoinError>>) {
        // SAFETY: 1. by our obligation 1; `create` has made it.
        let Self { kind, content, .. } = unsafe { job_memory::take_out(this) };
        let content = match content.into_inner() {
            Content::Closure(closure) => Ok(closure),
            Content::Result(result) => Err(result),
            Content::Nothing => unreachable!("a claim ends before its reference leaves"),
        };
        (kind, content)
    }

    /// [`AnyTask::join_on`], for a task that is the job of its queue itself. If the worker meets
    /// it, calls `end_here`, which has both references then, and ends them.
    ///
    /// # Safety
    /// 1. As there.
    #[inline]
    pub(super) unsafe fn help_until_done(
        this: *mut Self,
        worker: &WorkerThread,
        end_here: impl Fn() -> Result<T, JoinError>,
    ) -> Option<Result<T, JoinError>> {
        let mut ended = None;
        // SAFETY: by obligation 1 it lives, until there is a result.
        let is_done = || unsafe { (*this).state() }.is_done();
        while ended.is_none()
            && !is_done()
            && worker.help_local(this.cast(), || ended = Some(end_here()))
        {}
        ended
    }

    /// Frees the job.
    ///
    /// # Errors
    /// The panic of a job whose result was not taken, or of the drop of that result.
    ///
    /// # Safety
    /// 1. The caller is its last owner.
    unsafe fn free(this: *mut Self) -> Result<(), Panic> {
        // SAFETY: 1. by our obligation 1; `create` has made it.
        let Self { content, .. } = unsafe { job_memory::take_out(this) };
        match content.into_inner() {
            Content::Result(Err(error)) => error.try_into_panic().map_or(Ok(()), Err),
            content => catch_unwind(AssertUnwindSafe(|| drop(content))),
        }
    }

    /// Drops the closure, if the job has not begun. See [`AnyTask::abort`].
    pub(super) fn abort(&self) -> bool {
        if !self.state.claim() {
            return false;
        }
        // SAFETY: 1. it was claimed, just now.
        let _closure = unsafe { self.replace(Content::Result(Err(JoinError::aborted()))) };
        // Both are code of the user. If the waker panics, the closure is dropped while that
        // unwinds.
        //
        // SAFETY: 1. it was claimed above.
        if let Some(waiter) = unsafe { self.state.finish() } {
            waiter.wake();
        }
        true
    }

    /// See [`AnyTask::take_result`].
    ///
    /// # Safety
    /// 1. As there.
    pub(super) unsafe fn take_result(&self) -> Result<T, JoinError> {
        // SAFETY: 1. by our obligation 1 it is the owner's.
        match unsafe { self.replace(Content::Nothing) } {
            Content::Result(result) => result,
            _ => unreachable!("a job that is done has a result"),
        }
    }

    /// [`AnyTask::join_on`], for a handle, which does not know the type.
    ///
    /// # Safety
    /// 1. `this` leads to a task of this type.
    /// 2. As there.
    pub(super) unsafe fn join_from_handle(
        this: *mut (),
        worker: &WorkerThread,
    ) -> Option<Result<T, JoinError>>
    where
        Self: AnyTask<T>,
    {
        // SAFETY: 1. is forwarded to our caller, by obligation 2.
        unsafe { AnyTask::join_on(this.cast::<Self>(), worker) }
    }

    /// Ends the handle. A job that has not ended goes on. A result that was not taken is dropped,
    /// here if the job is over.
    ///
    /// # Panics
    /// Continues a panic of the drop.
    ///
    /// # Safety
    /// 1. `this` leads to a task of this type, which lives by its handle. That is not used any
    ///    more.
    pub(super) unsafe fn leave(this: *mut ()) {
        let this: *mut Self = this.cast();
        // SAFETY: 1. by our obligation 1; the task is not used unless we are the last owner.
        if unsafe { State::leave_handle(&raw const (*this).state) } {
            // SAFETY: 1. both have left; `create` has made it.
            drop(unsafe { job_memory::take_out(this) });
        }
    }
}

/// Returns the first one of two panics, and drops the other one.
#[inline]
fn first_panic(first: Result<(), Panic>, later: Result<(), Panic>) -> Result<(), Panic> {
    if first.is_ok() {
        return later;
    }
    drop_quietly(later);
    first
}
