//! A job whose result is kept for a handle: closure, result and state in one allocation.

use std::{
    cell::UnsafeCell,
    mem,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
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

/// The closure of a job, or its result.
enum Content<F, T> {
    Closure(F),
    Result(Result<T, JoinError>),
    /// The closure or the result was taken.
    Nothing,
}

/// A job whose result is kept for a handle. `kind` is what its queue needs, and comes first.
///
/// It has two owners, see [`State`].
#[repr(C)]
pub(super) struct Task<K, F, T> {
    pub(super) kind: K,
    state: State,
    content: UnsafeCell<Content<F, T>>,
}

/// What is the same in tasks of all kinds, for the owner of the handle.
pub(super) trait TaskResult<T> {
    fn state(&self) -> &State;

    /// Takes the result.
    ///
    /// # Safety
    /// 1. The job [is done](State::is_done), and this is the only call.
    unsafe fn take_result(&self) -> Result<T, JoinError>;
}

/// A task without its type, for its handle. The methods are for the owner of the handle.
pub(super) trait AnyTask<T>: TaskResult<T> {
    /// Whether one worker runs the job from beginning to end. Then a wait for the job is ended by a
    /// worker of the job's pool, and never from outside.
    fn is_run_at_once(&self) -> bool {
        true
    }

    /// Leaves a waiter that is notified, once, when a job that workers run repeatedly can continue,
    /// or is done. Returns false if that is so already. Another job has nothing to wait for but its
    /// end, of which this gives no notice.
    ///
    /// In an isolated call, no queue gives such a job to the worker that waits for it.
    fn notify_when_due(&self, _waiter: Waiter) -> bool {
        true
    }

    /// Runs jobs of `worker`, a worker of the job's pool, until the job is done. If the worker
    /// finds the job in its own deque, ends the task, and returns its result.
    ///
    /// # Safety
    /// 1. The task lives by its handle. The handle has no waiter, and is no longer used if a result
    ///    is returned.
    unsafe fn join_on(this: *mut Self, worker: &WorkerThread) -> Option<Result<T, JoinError>>
    where
        Self: Sized,
    {
        // No queue has a reference to the task itself.
        //
        // SAFETY: by obligation 1 the task lives.
        while !unsafe { (*this).state() }.is_done() && worker.help_local(ptr::null(), || ()) {}
        None
    }

    /// Runs the job on this thread, which is a worker of `registry`, the job's pool, if the job has
    /// not begun and can be run in this way. Does not unwind.
    fn run_here(&self, registry: &Registry);

    /// Drops the closure if the job has not begun. Returns whether this call dropped it.
    ///
    /// # Panics
    /// Continues a panic of the drop. The job is aborted all the same.
    fn abort(&self) -> bool;
}

impl<K, F, T> TaskResult<T> for Task<K, F, T> {
    fn state(&self) -> &State {
        &self.state
    }

    unsafe fn take_result(&self) -> Result<T, JoinError> {
        // SAFETY: 1. by our obligation 1 the result is the caller's.
        match unsafe { self.replace(Content::Nothing) } {
            Content::Result(result) => result,
            _ => unreachable!("a job that is done has a result"),
        }
    }
}

impl<K, F, T> Task<K, F, T> {
    /// Creates a job in memory that its last owner frees.
    #[inline]
    pub(super) fn create(kind: K, closure: F) -> *mut Self {
        job_memory::put(Self {
            kind,
            state: State::new(),
            content: UnsafeCell::new(Content::Closure(closure)),
        })
    }

    /// Replaces the content, and returns the previous one.
    ///
    /// # Safety
    /// 1. The caller has exclusive access to the content.
    #[inline]
    unsafe fn replace(&self, content: Content<F, T>) -> Content<F, T> {
        // SAFETY: by obligation 1.
        unsafe { mem::replace(&mut *self.content.get(), content) }
    }

    /// Calls the closure if the job has not begun, and keeps its result. Otherwise returns `call`,
    /// whose drop may panic.
    fn call<C: FnOnce(F) -> T>(&self, call: C) -> Option<C> {
        if !self.state.claim() {
            return Some(call);
        }
        // SAFETY: 1. the job was claimed, just now.
        let Content::Closure(closure) = (unsafe { self.replace(Content::Nothing) }) else {
            unreachable!("only the first claim takes the closure");
        };
        let result = catch_unwind(AssertUnwindSafe(|| call(closure)));
        // SAFETY: 1. the content is ours until the job is done.
        drop(unsafe { self.replace(Content::Result(result.map_err(JoinError::panicked))) });
        None
    }

    /// Runs the job if it has not begun, and wakes the waiter. Only for the owner of the handle.
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

    /// Runs the job if it has not begun, wakes the handle's waiter, and ends the queue's reference.
    ///
    /// # Errors
    /// A panic for the panic handler: that of a job whose handle is gone, or of code of the user
    /// that runs at the job's end.
    ///
    /// # Safety
    /// 1. The task lives by the queue's reference, which is not used any more.
    pub(super) unsafe fn run(this: *mut Self, call: impl FnOnce(F) -> T) -> Result<(), Panic> {
        // SAFETY: by obligation 1 the task lives until we leave.
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
                // SAFETY: as above: we have not left. 1. The job was claimed, and has not finished.
                waiter = unsafe { (*state).finish() };
            }
            // SAFETY: 1. as above.
            unsafe { State::leave_queue(state) }
        });
        // The last owner frees the task first, because a waker may panic.
        let freed = if is_last {
            // SAFETY: 1. both owners have left.
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
        // The panic of a job whose handle is gone by now takes precedence over that of a waker.
        first_panic(first_panic(freed, dropped), woken)
    }

    /// Takes the task apart, and frees it. Returns the kind and the closure, or, if the job was
    /// aborted, the kind and the result.
    ///
    /// # Safety
    /// 1. The caller has both references, and uses neither any more. Neither of them leaves a
    ///    waiter.
    pub(super) unsafe fn take_apart(this: *mut Self) -> (K, Result<F, Result<T, JoinError>>) {
        // SAFETY: 1. by our obligation 1; `create` has created the task.
        let Self { kind, content, .. } = unsafe { job_memory::take_out(this) };
        let content = match content.into_inner() {
            Content::Closure(closure) => Ok(closure),
            Content::Result(result) => Err(result),
            Content::Nothing => unreachable!("a claim ends before its reference leaves"),
        };
        (kind, content)
    }

    /// Implements [`AnyTask::join_on`] for a task that is itself the job in its queue. If the
    /// worker finds the job, calls `end_here`, which then has both references and ends them.
    ///
    /// # Safety
    /// 1. As for [`AnyTask::join_on`].
    #[inline]
    pub(super) unsafe fn help_until_done(
        this: *mut Self,
        worker: &WorkerThread,
        end_here: impl Fn() -> Result<T, JoinError>,
    ) -> Option<Result<T, JoinError>> {
        let mut ended = None;
        // SAFETY: by obligation 1 the task lives until there is a result.
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
    /// The panic of a job whose result was not taken, or of the drop of its result.
    ///
    /// # Safety
    /// 1. The caller is its last owner.
    unsafe fn free(this: *mut Self) -> Result<(), Panic> {
        // SAFETY: 1. by our obligation 1; `create` has created the task.
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
        // SAFETY: 1. the job was claimed, just now.
        let closure = unsafe { self.replace(Content::Result(Err(JoinError::aborted()))) };
        // SAFETY: 1. the job was claimed above.
        let waiter = unsafe { self.state.finish() };
        // The waker and the closure's drop are code of the user.
        let woken = waiter.map_or(Ok(()), |waiter| {
            catch_unwind(AssertUnwindSafe(|| waiter.wake()))
        });
        if let Err(panic) = woken {
            drop_quietly(closure);
            resume_unwind(panic);
        }
        drop(closure);
        true
    }

    /// Calls [`AnyTask::join_on`] for a handle, which does not know the type.
    ///
    /// # Safety
    /// 1. `this` points to a task of this type.
    /// 2. As for [`AnyTask::join_on`].
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

    /// Ends the handle. A job that has not ended continues. A result that was not taken is dropped:
    /// on this thread, if the job has ended.
    ///
    /// # Panics
    /// Continues a panic of the drop.
    ///
    /// # Safety
    /// 1. `this` points to a task of this type, which lives by its handle. The handle is not used
    ///    any more.
    pub(super) unsafe fn leave(this: *mut ()) {
        let this: *mut Self = this.cast();
        // SAFETY: 1. by our obligation 1; the task is not used unless we are the last owner.
        if unsafe { State::leave_handle(&raw const (*this).state) } {
            // SAFETY: 1. both owners have left; `create` has created the task.
            drop(unsafe { job_memory::take_out(this) });
        }
    }
}

/// Returns the first of two panics, and drops the other one.
#[inline]
fn first_panic(first: Result<(), Panic>, later: Result<(), Panic>) -> Result<(), Panic> {
    if first.is_ok() {
        return later;
    }
    drop_quietly(later);
    first
}
