//! Latches: one event, somebody who waits for it, somebody who sets it.

use sleep_core::CoreLatch;

use crate::{
    platform::{Platform, Waiter},
    primitive::{AtomicBool, AtomicUsize, Ordering},
    registry::Registry,
    worker::WorkerThread,
};

#[cfg(test)]
mod tests;

/// An event that is set once.
pub trait Latch {
    /// Sets the latch and wakes whoever waits.
    ///
    /// Takes a pointer, since the waiter may go on, and end the frame that holds the latch, before
    /// the call returns (rayon#739, #929).
    ///
    /// # Safety
    /// 1. `this` points to a live latch when the call begins.
    unsafe fn set(this: *const Self);
}

/// What a worker waits on: it searches for other work meanwhile, and sleeps when there is none.
pub struct SpinLatch<P: Platform> {
    core: CoreLatch,
    /// Outlives the wait. Others read only what never changes.
    waiter: *const WorkerThread<P>,
    /// The setter may belong to another pool, and so nothing but us keeps the waiter's alive.
    cross: bool,
}

// SAFETY: of the waiter, others read its registry and its number, which never change; the registry
// is made for sharing, as the bounds of `Platform` demand; the rest is shared atomics or never
// changes.
unsafe impl<P: Platform> Sync for SpinLatch<P> {}
// SAFETY: as above; a latch that is moved has no setter yet, or none any more.
unsafe impl<P: Platform> Send for SpinLatch<P> {}

impl<P: Platform> SpinLatch<P> {
    /// For a job that runs on the waiter's own pool.
    #[inline]
    pub fn new(waiter: &WorkerThread<P>) -> Self {
        Self {
            core: CoreLatch::new(),
            waiter,
            cross: false,
        }
    }

    /// For a job that runs on another pool.
    pub fn cross(waiter: &WorkerThread<P>) -> Self {
        Self {
            cross: true,
            ..Self::new(waiter)
        }
    }

    /// The part that the waiter looks at.
    #[inline]
    pub fn core(&self) -> &CoreLatch {
        &self.core
    }
}

impl<P: Platform> Latch for SpinLatch<P> {
    #[inline]
    unsafe fn set(this: *const Self) {
        // SAFETY: the latch is alive (obligation 1) until `CoreLatch::set`, and its waiter, and all
        // that is needed after it is copied before. The registry lives on: the setter is one of its
        // workers, or `keep_alive` holds it, which we call while the waiter cannot leave
        // yet.
        unsafe {
            let (registry, worker) = WorkerThread::place((*this).waiter);
            let _held = (*this).cross.then(|| P::keep_alive(registry));
            if CoreLatch::set(&raw const (*this).core) {
                (*registry).sleep().wake_worker(worker);
            }
        }
    }
}

/// What a thread outside the pool waits on: it blocks.
pub struct BlockingLatch<P: Platform> {
    set: AtomicBool,
    waiter: core::mem::ManuallyDrop<P::Waiter>,
}

// SAFETY: only the one setter touches the handle, by moving it out; hence `Waiter: Send`.
unsafe impl<P: Platform> Sync for BlockingLatch<P> {}

impl<P: Platform> BlockingLatch<P> {
    /// For the thread that calls.
    pub fn new() -> Self {
        Self {
            set: AtomicBool::new(false),
            waiter: core::mem::ManuallyDrop::new(P::Waiter::current()),
        }
    }

    /// Blocks until the latch is set. Only the thread that made the latch may wait.
    pub fn wait(&self) {
        // Ordering: Acquire pairs with `set`: what the setter wrote is visible.
        while !self.set.load(Ordering::Acquire) {
            // Liveness: the setter unparks this thread after it has set the flag, and the token
            // outlasts the time until we park.
            P::Waiter::park();
        }
    }
}

impl<P: Platform> Drop for BlockingLatch<P> {
    fn drop(&mut self) {
        // Ordering: Relaxed, the waiter has seen what there was to see.
        if !self.set.load(Ordering::Relaxed) {
            // SAFETY: no setter has moved the handle out, and none will.
            unsafe { core::mem::ManuallyDrop::drop(&mut self.waiter) };
        }
    }
}

impl<P: Platform> Default for BlockingLatch<P> {
    fn default() -> Self {
        Self::new()
    }
}

impl<P: Platform> Latch for BlockingLatch<P> {
    unsafe fn set(this: *const Self) {
        // SAFETY: the latch is alive (obligation 1) until the flag is set. The handle is moved out
        // before, and the latch does not drop it, so it is dropped once.
        unsafe {
            let waiter = (&raw const (*this).waiter).cast::<P::Waiter>().read();
            // Ordering: Release pairs with `wait`.
            (*this).set.store(true, Ordering::Release);
            waiter.unpark();
        }
    }
}

/// Counts jobs down; set when the last one is done.
pub struct CountLatch<P: Platform> {
    pending: AtomicUsize,
    waiter: CountWaiter<P>,
}

enum CountWaiter<P: Platform> {
    Worker(SpinLatch<P>),
    Outside(BlockingLatch<P>),
}

impl<P: Platform> CountLatch<P> {
    /// One job is pending: the one that is going to wait. `owner` is the worker that this thread
    /// is, if any; the jobs run on `registry`.
    pub fn new(owner: Option<&WorkerThread<P>>, registry: &Registry<P>) -> Self {
        let waiter = match owner {
            Some(owner) if core::ptr::eq(owner.registry(), registry) => {
                CountWaiter::Worker(SpinLatch::new(owner))
            }
            Some(owner) => CountWaiter::Worker(SpinLatch::cross(owner)),
            None => CountWaiter::Outside(BlockingLatch::new()),
        };
        Self {
            pending: AtomicUsize::new(1),
            waiter,
        }
    }

    /// One more job is pending. Only while one is.
    pub fn increment(&self) {
        // Ordering: Relaxed, a plain count: the caller's own job keeps it from reaching zero.
        self.pending.fetch_add(1, Ordering::Relaxed);
    }

    /// How many jobs are pending; old when it arrives.
    pub fn pending(&self) -> usize {
        // Ordering: Relaxed, a plain count.
        self.pending.load(Ordering::Relaxed)
    }

    /// Waits until all jobs are done; `owner` is the one that `new` was called with.
    pub fn wait(&self, owner: Option<&WorkerThread<P>>) {
        match (&self.waiter, owner) {
            (CountWaiter::Worker(latch), Some(owner)) => owner.wait_until(latch.core()),
            (CountWaiter::Outside(latch), _) => latch.wait(),
            (CountWaiter::Worker(_), None) => unreachable!("a worker's latch needs its worker"),
        }
    }
}

impl<P: Platform> Latch for CountLatch<P> {
    unsafe fn set(this: *const Self) {
        // SAFETY: the latch is alive (obligation 1) while its count is above zero, and if ours
        // was the last one until its waiter's latch is set, which copies what it needs.
        unsafe {
            // Ordering: AcqRel. Release hands what this job wrote to whoever ends the count;
            // Acquire, for that one, gathers what all jobs wrote before it passes them on.
            if (*this).pending.fetch_sub(1, Ordering::AcqRel) == 1 {
                // The references end with the match: only pointers go on.
                match &(*this).waiter {
                    CountWaiter::Worker(latch) => Latch::set(core::ptr::from_ref(latch)),
                    CountWaiter::Outside(latch) => Latch::set(core::ptr::from_ref(latch)),
                }
            }
        }
    }
}
