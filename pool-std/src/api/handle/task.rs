//! A job whose result is kept for a handle: closure, result and state in one allocation.

use std::{
    any::Any,
    cell::UnsafeCell,
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicU8, Ordering},
    },
    task::Waker,
};

use super::JoinError;
use crate::{driver::Signal, panics::lock};

#[cfg(test)]
mod tests;

/// A thread has taken the closure: it runs it, or has aborted the job.
const CLAIMED: u8 = 1;
/// The result is there.
const DONE: u8 = 2;
/// The owner of the handle waits. The waiter is there.
const AWAITED: u8 = 4;
/// The handle is gone.
const DETACHED: u8 = 8;

/// What the owner of a handle leaves to be told when the job is done.
pub(super) enum Waiter {
    /// A thread that waits for as long as it takes.
    Thread(Signal),
    /// A thread that waits for a limited time.
    Timed(Arc<Bell>),
    /// A future.
    Task(Waker),
}

/// Rings once.
#[derive(Default)]
pub(super) struct Bell {
    pub(super) has_rung: Mutex<bool>,
    pub(super) rings: Condvar,
}

impl Waiter {
    /// Tells it. A waker is code of the user, which may panic.
    fn wake(self) {
        match self {
            Self::Thread(signal) => signal.set(),
            Self::Timed(bell) => {
                *lock(&bell.has_rung) = true;
                bell.rings.notify_one();
            }
            Self::Task(waker) => waker.wake(),
        }
    }
}

/// The state of a job, and the owner's waiter.
///
/// | access | rule |
/// | --- | --- |
/// | the content | the thread that has set `CLAIMED`, until it sets `DONE`; then the owner of the handle, or that thread if it finds `DETACHED` |
/// | the waiter | the owner of the handle, while `AWAITED` is not set. The thread that sets `DONE`, if it finds `AWAITED` |
///
/// So the owner has the waiter back when it has cleared `AWAITED` while `DONE` is not set.
pub(super) struct State {
    bits: AtomicU8,
    waiter: UnsafeCell<Option<Waiter>>,
}

// SAFETY: the table says which thread uses the waiter, and a `Waiter` is `Send`.
unsafe impl Sync for State {}

impl State {
    fn new() -> Self {
        Self {
            bits: AtomicU8::new(0),
            waiter: UnsafeCell::new(None),
        }
    }

    /// Whether the result is there. Then it is visible.
    #[inline]
    pub(super) fn is_done(&self) -> bool {
        // Ordering: Acquire pairs with the Release of `finish`.
        self.bits.load(Ordering::Acquire) & DONE != 0
    }

    /// Takes the content, for the first thread that asks.
    fn claim(&self) -> bool {
        // Ordering: Acquire. An owner whose abort comes first has dropped the closure; whatever the
        // winner does with it, no other thread has touched it since the job was made, and a queue
        // has passed that on.
        self.bits.fetch_or(CLAIMED, Ordering::Acquire) & CLAIMED == 0
    }

    /// Says that the result is there, by the thread that has claimed the content. Returns the
    /// waiter that it is to tell, and whether the handle is gone, so that the content stays this
    /// thread's.
    fn finish(&self) -> (Option<Waiter>, bool) {
        // Ordering: Release pairs with the Acquire of `is_done` and `set_waiter`, for the content.
        // Acquire pairs with their Release, for the waiter and for what the owner did before it
        // dropped the handle.
        let before = self.bits.fetch_or(DONE, Ordering::AcqRel);
        // SAFETY: by the table it is ours if it is awaited.
        let waiter = (before & AWAITED != 0).then(|| unsafe { (*self.waiter.get()).take() });
        (waiter.flatten(), before & DETACHED != 0)
    }

    /// Leaves a waiter, for the owner of the handle, which has left none. Returns false if the job
    /// is done: then no thread will tell the waiter, which was dropped.
    pub(super) fn set_waiter(&self, waiter: Waiter) -> bool {
        // SAFETY: by the table it is the owner's.
        unsafe { *self.waiter.get() = Some(waiter) };
        // Ordering: Release pairs with the Acquire of `finish`, for the waiter. Acquire pairs with
        // its Release, for the content.
        if self.bits.fetch_or(AWAITED, Ordering::AcqRel) & DONE == 0 {
            return true;
        }
        // SAFETY: the job was done before, so that the other thread has not seen `AWAITED`.
        drop(unsafe { (*self.waiter.get()).take() });
        false
    }

    /// Takes the owner's waiter back, if there is one. Returns false if the job is done: then
    /// another thread tells the waiter, or has done so.
    pub(super) fn clear_waiter(&self) -> bool {
        let mut bits = self.bits.load(Ordering::Relaxed);
        while bits & DONE == 0 {
            if bits & AWAITED == 0 {
                return true;
            }
            let cleared = bits & !AWAITED;
            // Ordering: Relaxed. No other thread has touched the waiter, which this one has
            // written; nor has it the content if the job is not done.
            let exchanged = self.bits.compare_exchange_weak(
                bits,
                cleared,
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
            match exchanged {
                Ok(_) => {
                    // SAFETY: by the table it is ours again. The drop of a waker is code of the
                    // user, which may panic; the waiter is gone by then.
                    drop(unsafe { (*self.waiter.get()).take() });
                    return true;
                }
                Err(now) => bits = now,
            }
        }
        false
    }

    /// Says that the handle is gone. Returns whether the job is done, so that the result is the
    /// caller's.
    fn detach(&self) -> bool {
        // Ordering: Release pairs with the Acquire of `finish`: what the owner did lies before the
        // drop of the result. Acquire pairs with its Release, for the content.
        self.bits.fetch_or(DETACHED, Ordering::AcqRel) & DONE != 0
    }
}

/// What is in the place of a closure, and of its result.
enum Content<F, T> {
    Closure(F),
    Result(Result<T, JoinError>),
    /// Taken.
    Nothing,
}

/// A job whose result is kept for a handle. `kind` is what its queue needs, and comes first.
#[repr(C)]
pub(super) struct Task<K, F, T> {
    pub(super) kind: K,
    state: State,
    content: UnsafeCell<Content<F, T>>,
}

// SAFETY: the content goes from thread to thread, and the table of `State` says which one uses it.
unsafe impl<K: Sync, F: Send, T: Send> Sync for Task<K, F, T> {}

/// A task as its handle knows it.
pub(super) trait AnyTask<T>: Send + Sync {
    fn state(&self) -> &State;

    /// Runs the job on this thread, a worker of its pool, if it has not begun and can be run so.
    fn run_here(&self);

    /// Drops the closure, if the job has not begun. Returns whether it did.
    ///
    /// # Panics
    /// Continues a panic of the drop. The job is aborted all the same.
    fn abort(&self) -> bool;

    /// Takes the result.
    ///
    /// # Safety
    /// 1. The caller owns the handle, the job [is done](State::is_done), and this is the only call.
    unsafe fn take_result(&self) -> Result<T, JoinError>;

    /// Detaches the job, whose handle is dropped. A result that is there is dropped here.
    ///
    /// # Safety
    /// 1. The caller owns the handle, and uses it for nothing else.
    unsafe fn detach(&self);
}

impl<K, F, T> Task<K, F, T> {
    pub(super) fn new(kind: K, closure: F) -> Arc<Self> {
        Arc::new(Self {
            kind,
            state: State::new(),
            content: UnsafeCell::new(Content::Closure(closure)),
        })
    }

    pub(super) fn state(&self) -> &State {
        &self.state
    }

    /// Runs the job if it has not begun. Tells the owner of the handle. Returns what the panic
    /// handler should get: a panic of a job whose handle is gone, or of what the user's code does
    /// at its end.
    ///
    /// Never unwinds.
    pub(super) fn run(&self, call: impl FnOnce(F) -> T) -> Result<(), Box<dyn Any + Send>> {
        if !self.state.claim() {
            return Ok(());
        }
        // SAFETY: it was claimed, just now.
        let content = unsafe { mem::replace(&mut *self.content.get(), Content::Nothing) };
        let Content::Closure(closure) = content else {
            unreachable!("only the first claim takes the closure");
        };
        let result = catch_unwind(AssertUnwindSafe(|| call(closure)));
        // SAFETY: it is ours until `finish`.
        unsafe { *self.content.get() = Content::Result(result.map_err(JoinError::panicked)) };
        let (waiter, is_detached) = self.state.finish();
        catch_unwind(AssertUnwindSafe(|| {
            if let Some(waiter) = waiter {
                waiter.wake();
            }
        }))?;
        if is_detached {
            // SAFETY: the handle is gone, so the content stays ours.
            let content = unsafe { mem::replace(&mut *self.content.get(), Content::Nothing) };
            if let Content::Result(result) = content {
                let result = result.map_err(JoinError::into_payload);
                catch_unwind(AssertUnwindSafe(|| result.map(drop)))??;
            }
        }
        Ok(())
    }

    /// Drops the closure, if the job has not begun. See [`AnyTask::abort`].
    pub(super) fn abort(&self) -> bool {
        if !self.state.claim() {
            return false;
        }
        let aborted = Content::Result(Err(JoinError::aborted()));
        // SAFETY: it was claimed, just now.
        let closure = unsafe { mem::replace(&mut *self.content.get(), aborted) };
        let (waiter, _) = self.state.finish();
        // Both are code of the user. If one panics, the other is dropped while that unwinds.
        let _closure = closure;
        if let Some(waiter) = waiter {
            waiter.wake();
        }
        true
    }

    /// See [`AnyTask::take_result`].
    ///
    /// # Safety
    /// 1. As there.
    pub(super) unsafe fn take_result(&self) -> Result<T, JoinError> {
        // SAFETY: by obligation 1 it is the owner's.
        let content = unsafe { mem::replace(&mut *self.content.get(), Content::Nothing) };
        match content {
            Content::Result(result) => result,
            _ => unreachable!("a job that is done has a result"),
        }
    }

    /// See [`AnyTask::detach`].
    ///
    /// # Safety
    /// 1. As there.
    pub(super) unsafe fn detach(&self) {
        if self.state.detach() {
            // SAFETY: the job is done, so it is the owner's.
            drop(unsafe { mem::replace(&mut *self.content.get(), Content::Nothing) });
        }
    }
}
