//! The state of a job with a handle.

use std::{
    cell::UnsafeCell,
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicU8, Ordering},
    },
    task::Waker,
};

use crate::{driver::Signal, panics::lock};

/// A thread has taken the closure: it runs it, or has aborted the job.
const CLAIMED: u8 = 1;
/// The result is there.
const DONE: u8 = 2;
/// The owner of the handle waits. The waiter is there.
const AWAITED: u8 = 4;
/// The queue has no reference any more.
const LEFT_BY_QUEUE: u8 = 8;
/// The handle is gone.
const LEFT_BY_HANDLE: u8 = 16;

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
    pub(super) fn wake(self) {
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

/// The state of a job that has two owners: the reference in its queue, and its handle. The last one
/// that leaves frees it.
///
/// | access | rule |
/// | --- | --- |
/// | the content | the thread that has set `CLAIMED`, until it sets `DONE`; then the owner of the handle until it leaves, and then the queue's reference |
/// | the waiter | the owner of the handle, while `AWAITED` is not set. The thread that sets `DONE`, if it finds `AWAITED` |
///
/// So the owner has the waiter back when it has cleared `AWAITED` while `DONE` is not set. A thread
/// that sets `DONE` touches the waiter before it leaves.
pub(super) struct State {
    bits: AtomicU8,
    /// In a box: few jobs are awaited before they are done, and a job should fit into a block.
    waiter: UnsafeCell<Option<Box<Waiter>>>,
}

// SAFETY: the table says which thread uses the waiter, and a `Waiter` is `Send`.
unsafe impl Sync for State {}

impl State {
    pub(super) const fn new() -> Self {
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
    #[inline]
    pub(super) fn claim(&self) -> bool {
        // Ordering: Relaxed. The content was written before the job came into its queue, and before
        // there was a handle. Whoever has one of these has acquired it.
        self.bits.fetch_or(CLAIMED, Ordering::Relaxed) & CLAIMED == 0
    }

    /// Says that the result is there, by the thread that has claimed the content and goes on being
    /// an owner. Returns the waiter that it is to tell.
    pub(super) fn finish(&self) -> Option<Waiter> {
        // Ordering: Release pairs with the Acquire of `is_done`, `set_waiter` and `leave`, for the
        // content. Acquire pairs with the Release of `set_waiter`, for the waiter.
        let before = self.bits.fetch_or(DONE, Ordering::AcqRel);
        // SAFETY: by the table it is ours if it is awaited.
        let waiter = (before & AWAITED != 0).then(|| unsafe { (*self.waiter.get()).take() });
        waiter.flatten().map(|waiter| *waiter)
    }

    /// Says that the result is there, as [`finish`](Self::finish) does, and that the queue's
    /// reference leaves, if no waiter is to be told. Returns `None` if one is: then nothing has
    /// changed. Otherwise returns whether the caller is the last owner.
    ///
    /// # Safety
    /// 1. As for [`leave`](Self::leave).
    #[inline]
    pub(super) unsafe fn finish_and_leave(this: *const Self) -> Option<bool> {
        let leaves = DONE | LEFT_BY_QUEUE;
        // SAFETY: by obligation 1 it lives until the exchange succeeds.
        let word = unsafe { &raw const (*this).bits };
        // SAFETY: as above.
        let mut bits = unsafe { (*word).load(Ordering::Relaxed) };
        while bits & AWAITED == 0 {
            // Ordering: Release pairs with the Acquire of `is_done` and `leave`, for the content.
            // Acquire pairs with the Release of `leave`: what the owner of the handle did lies
            // before the free.
            //
            // SAFETY: as above.
            let exchanged = unsafe {
                (*word).compare_exchange_weak(
                    bits,
                    bits | leaves,
                    Ordering::AcqRel,
                    Ordering::Relaxed,
                )
            };
            match exchanged {
                Ok(_) => return Some(bits & LEFT_BY_HANDLE != 0),
                Err(now) => bits = now,
            }
        }
        None
    }

    /// Says that the reference in the queue leaves. Returns whether the caller is the last owner.
    ///
    /// A pointer, because the other owner may free the job before this returns.
    ///
    /// # Safety
    /// 1. `this` leads to a job of which the caller is the owner that leaves, and which it touches
    ///    only if it is the last one.
    pub(super) unsafe fn leave_queue(this: *const Self) -> bool {
        // SAFETY: 1. is forwarded to our caller.
        unsafe { Self::leave(this, LEFT_BY_QUEUE) & LEFT_BY_HANDLE != 0 }
    }

    /// Says that the handle leaves. Returns whether it is the last owner.
    ///
    /// # Safety
    /// 1. As for [`leave_queue`](Self::leave_queue).
    pub(super) unsafe fn leave_handle(this: *const Self) -> bool {
        // Ordering: Acquire pairs with the Release of `finish_and_leave`. A queue that has left
        // does not come again.
        //
        // SAFETY: 1. by our obligation 1.
        let bits = unsafe { (*this).bits.load(Ordering::Acquire) };
        // SAFETY: 1. is forwarded to our caller.
        bits & LEFT_BY_QUEUE != 0
            || unsafe { Self::leave(this, LEFT_BY_HANDLE) & LEFT_BY_QUEUE != 0 }
    }

    /// # Safety
    /// 1. As for [`leave_queue`](Self::leave_queue).
    unsafe fn leave(this: *const Self, bit: u8) -> u8 {
        // Ordering: Release pairs with the Acquire of the other owner, which frees the job: what
        // this one did lies before that. Acquire if it is this one.
        //
        // SAFETY: by obligation 1 it lives until the exchange.
        unsafe { (*this).bits.fetch_or(bit, Ordering::AcqRel) }
    }

    /// Leaves a waiter, for the owner of the handle, which has left none. Returns false if the job
    /// is done: then no thread will tell the waiter, which was dropped.
    pub(super) fn set_waiter(&self, waiter: Waiter) -> bool {
        // SAFETY: by the table it is the owner's.
        unsafe { *self.waiter.get() = Some(Box::new(waiter)) };
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
            // Ordering: Relaxed. No other thread has touched the waiter, which this one has
            // written; nor has it the content if the job is not done.
            let exchanged = self.bits.compare_exchange_weak(
                bits,
                bits & !AWAITED,
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
}
