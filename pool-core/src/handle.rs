//! The state of a job that its queue and a handle share.

use core::fmt;

use crate::primitive::{AtomicU8, Ordering, UnsafeCell};

#[cfg(test)]
mod tests;

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

/// The state of a job that has two owners: the reference in its queue, and its handle. The last
/// owner that leaves frees it. `W` is what the owner of the handle leaves to be told when the job
/// is done.
///
/// For platforms whose jobs return results. The job itself, with its closure and its result, is a
/// [`Job`](crate::Job) of the platform, which this is a part of.
///
/// - The content is for the thread that has set `CLAIMED`, until it sets `DONE`; then for the owner
///   of the handle until it leaves, and then for the queue's reference.
/// - The waiter is for the owner of the handle, while `AWAITED` is not set, and for the thread that
///   sets `DONE`, if it finds `AWAITED`.
///
/// So the owner has the waiter back when it has cleared `AWAITED` while `DONE` is not set. A thread
/// that sets `DONE` touches the waiter before it leaves.
///
/// # Examples
/// ```
/// let state = pool_core::HandleState::<std::thread::Thread>::new();
/// assert!(!state.is_done());
/// assert!(state.claim(), "the caller runs the job, or drops it");
/// assert!(!state.claim(), "another thread has done so");
/// ```
pub struct HandleState<W> {
    bits: AtomicU8,
    waiter: UnsafeCell<Option<W>>,
}

// SAFETY: the list above says which thread uses the waiter, which goes from one to another.
unsafe impl<W: Send> Sync for HandleState<W> {}

impl<W> fmt::Debug for HandleState<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HandleState")
            .field("is_done", &self.is_done())
            .finish_non_exhaustive()
    }
}

impl<W> Default for HandleState<W> {
    fn default() -> Self {
        Self::new()
    }
}

impl<W> HandleState<W> {
    const_unless_loom! {
        /// Creates the state of a job that has not begun.
        #[must_use]
        pub fn new() -> Self {
            Self { bits: AtomicU8::new(0), waiter: UnsafeCell::new(None) }
        }
    }

    /// Whether the result is there. If so, it is visible.
    #[inline]
    pub fn is_done(&self) -> bool {
        // Ordering: Acquire pairs with the Release of `finish`.
        self.bits.load(Ordering::Acquire) & DONE != 0
    }

    /// Takes the content, for the first thread that asks.
    #[inline]
    pub fn claim(&self) -> bool {
        // Ordering: Relaxed. The content was written before the job came into its queue, and before
        // there was a handle. A thread that has one of these has acquired it.
        self.bits.fetch_or(CLAIMED, Ordering::Relaxed) & CLAIMED == 0
    }

    /// Whether a thread has taken the content, as far as this one knows.
    #[inline]
    pub fn is_claimed(&self) -> bool {
        // Ordering: Relaxed. Nothing is read for it; a caller that misses the claim asks again.
        self.bits.load(Ordering::Relaxed) & CLAIMED != 0
    }

    /// Notes that the result is there, for the thread that has claimed the content and remains an
    /// owner. Returns the waiter that it must notify.
    ///
    /// # Safety
    /// 1. The caller has [claimed](Self::claim) the content, and calls this or
    ///    [`finish_and_leave`](Self::finish_and_leave) once.
    pub unsafe fn finish(&self) -> Option<W> {
        // Ordering: Release pairs with the Acquire of `is_done` and `leave`, for the
        // content. Acquire pairs with the Release of `set_waiter`, for the waiter.
        let before = self.bits.fetch_or(DONE, Ordering::AcqRel);
        // SAFETY: 1. by the list above it is ours if it is awaited: by obligation 1 we have set
        // `DONE`.
        (before & AWAITED != 0).then(|| unsafe { self.take_waiter() })?
    }

    /// Takes the waiter.
    ///
    /// # Safety
    /// 1. By the list above the waiter is the caller's.
    unsafe fn take_waiter(&self) -> Option<W> {
        // SAFETY: by obligation 1.
        self.waiter.with_mut(|waiter| unsafe { (*waiter).take() })
    }

    /// Notes that the result is there, as [`finish`](Self::finish) does, and that the queue's
    /// reference leaves, if no waiter must be notified. If there is one, returns `None`, and
    /// nothing has changed. Otherwise, returns whether the caller is the last owner.
    ///
    /// # Safety
    /// 1. As for [`leave_queue`](Self::leave_queue).
    /// 2. As for [`finish`](Self::finish), obligation 1.
    #[inline]
    pub unsafe fn finish_and_leave(this: *const Self) -> Option<bool> {
        let leaves = DONE | LEFT_BY_QUEUE;
        // SAFETY: by obligation 1 it lives until the exchange succeeds.
        let word = unsafe { &raw const (*this).bits };
        // Ordering: Relaxed; the exchange confirms it.
        //
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

    /// Notes that the reference in the queue leaves. Returns whether the caller is the last owner.
    ///
    /// A pointer, because the other owner may free the job before this returns.
    ///
    /// # Safety
    /// 1. `this` leads to a job of which the caller is the owner that leaves, and which it touches
    ///    only if it is the last one.
    pub unsafe fn leave_queue(this: *const Self) -> bool {
        // SAFETY: 1. is forwarded to our caller.
        unsafe { Self::leave(this, LEFT_BY_QUEUE) & LEFT_BY_HANDLE != 0 }
    }

    /// Notes that the handle leaves. Returns whether it is the last owner.
    ///
    /// # Safety
    /// 1. As for [`leave_queue`](Self::leave_queue).
    pub unsafe fn leave_handle(this: *const Self) -> bool {
        // Ordering: Acquire pairs with the Release of `finish_and_leave` and `leave`. A
        // reference of the queue that has left never returns, so a load suffices.
        //
        // SAFETY: by obligation 1 it lives.
        let bits = unsafe { (*this).bits.load(Ordering::Acquire) };
        if bits & LEFT_BY_QUEUE != 0 {
            return true;
        }
        // SAFETY: 1. is forwarded to our caller.
        unsafe { Self::leave(this, LEFT_BY_HANDLE) & LEFT_BY_QUEUE != 0 }
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

    /// Leaves a waiter for the thread that sets the result. Returns false if the job is done: then
    /// no thread receives the waiter, and it was dropped.
    ///
    /// # Safety
    /// 1. The caller is the owner of the handle, and has left none; or it has
    ///    [cleared](Self::clear_waiter) the last one, and was told that the job is not done; or it
    ///    has [taken back](Self::take_back_waiter) the last one, and was given it.
    pub unsafe fn set_waiter(&self, waiter: W) -> bool {
        // SAFETY: by the list above it is the owner's, by obligation 1.
        self.waiter
            .with_mut(|place| unsafe { *place = Some(waiter) });
        // Ordering: Release pairs with the Acquire of `finish`, for the waiter. A caller that is
        // told that the job is done asks `is_done` before it uses the result.
        if self.bits.fetch_or(AWAITED, Ordering::Release) & DONE == 0 {
            return true;
        }
        // SAFETY: 1. the job was done before, so that the other thread has not seen `AWAITED`.
        drop(unsafe { self.take_waiter() });
        false
    }

    /// Takes back the owner's waiter, if there is one, and drops it. Returns false if the job is
    /// done.
    ///
    /// # Safety
    /// 1. The caller is the owner of the handle.
    #[inline]
    pub unsafe fn clear_waiter(&self) -> bool {
        // Ordering: Relaxed here and below; see `take_back_waiter`.
        match self.bits.load(Ordering::Relaxed) & (DONE | AWAITED) {
            0 => true,
            AWAITED => {
                // SAFETY: 1. is forwarded to our caller.
                drop(unsafe { self.take_back_waiter() });
                self.bits.load(Ordering::Relaxed) & DONE == 0
            }
            _ => false,
        }
    }

    /// Takes back the owner's waiter. Returns none if the owner has left none, or if the job is
    /// done: then another thread receives the waiter, perhaps at this moment, so that the owner
    /// must not leave another one.
    ///
    /// # Safety
    /// 1. The caller is the owner of the handle.
    pub unsafe fn take_back_waiter(&self) -> Option<W> {
        // Ordering: Relaxed; the exchange confirms it. A caller that learns that the job is done
        // asks `is_done` before it uses the result.
        let mut bits = self.bits.load(Ordering::Relaxed);
        while bits & (DONE | AWAITED) == AWAITED {
            // Ordering: Relaxed. No other thread has touched the waiter, which this one has
            // written; nor has it the content if the job is not done.
            let exchanged = self.bits.compare_exchange_weak(
                bits,
                bits & !AWAITED,
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
            match exchanged {
                // SAFETY: 1. by the list above it is ours again.
                Ok(_) => return unsafe { self.take_waiter() },
                Err(now) => bits = now,
            }
        }
        None
    }
}
