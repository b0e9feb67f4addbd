//! The latch of many jobs.

use core::{fmt, ptr};

use sleep_core::WorkerIndex;

use super::{BlockingLatch, Latch, SpinLatch};
use crate::{
    isolation::Isolation,
    platform::Platform,
    primitive::{AtomicUsize, Ordering},
    registry::Registry,
    unwind::no_unwind,
    worker::{Awaited, OutsideScopes, WorkerThread},
};

/// A latch that counts jobs, and is set when the last one is done.
///
/// # Examples
/// ```
/// use pool_core::{CountLatch, Latch as _, Platform, Registry, WorkerThread};
///
/// /// Queues a number of jobs, and waits until all of them have ended.
/// fn run_all<P: Platform>(
///     caller: Option<&WorkerThread<P>>,
///     registry: &Registry<P>,
///     count: usize,
///     queue_one: impl Fn(*const CountLatch<'_, P>),
/// ) {
///     let latch = CountLatch::new(caller, registry);
///     for _ in 0..count {
///         latch.increment(1);
///         // The job's last step is to set the latch.
///         queue_one(&raw const latch);
///     }
///     // SAFETY: 1. it lives; 2. this is for the one that `new` has counted; 3. we hold the pool.
///     unsafe { CountLatch::set(&raw const latch) };
///     latch.wait(caller);
/// }
/// ```
pub struct CountLatch<'w, P: Platform> {
    pending: AtomicUsize,
    waiter: CountWaiter<'w, P>,
}

impl<P: Platform> fmt::Debug for CountLatch<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CountLatch")
            .field("pending", &self.pending())
            .finish_non_exhaustive()
    }
}

enum CountWaiter<'w, P: Platform> {
    Worker(SpinLatch<'w, P>, Awaited),
    Outside(BlockingLatch<P>),
}

impl<'w, P: Platform> CountLatch<'w, P> {
    /// Creates a latch with one pending job: the one that is going to wait. `owner` is the worker
    /// that this thread is, if any; the jobs run on `registry`.
    pub fn new(owner: Option<&'w WorkerThread<P>>, registry: &Registry<P>) -> Self {
        let waiter = match owner {
            Some(owner) => {
                let latch = if ptr::eq(owner.registry(), registry) {
                    SpinLatch::new(owner)
                } else {
                    SpinLatch::cross(owner)
                };
                CountWaiter::Worker(latch, owner.await_from_now())
            }
            None => CountWaiter::Outside(BlockingLatch::new()),
        };
        Self {
            pending: AtomicUsize::new(1),
            waiter,
        }
    }

    /// Adds pending jobs, for a caller whose own job is pending.
    ///
    /// # Panics
    /// If no job is pending, so that the wait may be over, or if more than `isize::MAX` jobs would
    /// be. The process ends then if `count` is 128 or less.
    #[inline]
    pub fn increment(&self, count: usize) {
        // A count that begins again at zero would end the wait while jobs are pending, or end it
        // twice.
        const LIMIT: usize = isize::MAX.cast_unsigned();
        const SMALL: usize = 128;
        // Ordering: Relaxed, a plain count: the caller's own job keeps it from reaching zero.
        if count <= SMALL {
            let before = self.pending.fetch_add(count, Ordering::Relaxed);
            // One comparison for both ends.
            if before.wrapping_sub(1) >= LIMIT - SMALL {
                no_unwind(|| panic!("{}", Self::refusal(before)));
            }
            return;
        }
        self.increment_by_many(count, LIMIT - SMALL);
    }

    /// Returns why no more jobs can be added to so many.
    fn refusal(pending: usize) -> &'static str {
        match pending {
            0 => "the wait for the jobs may be over",
            _ => "too many jobs",
        }
    }

    #[cold]
    fn increment_by_many(&self, count: usize, limit: usize) {
        let mut pending = self.pending();
        loop {
            let sum = pending.checked_add(count);
            let sum = sum.filter(|&sum| pending > 0 && sum <= limit);
            let sum = sum.unwrap_or_else(|| panic!("{}", Self::refusal(pending)));
            // Ordering: Relaxed, as above.
            let exchanged = self.pending.compare_exchange_weak(
                pending,
                sum,
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
            match exchanged {
                Ok(_) => return,
                Err(now) => pending = now,
            }
        }
    }

    /// Returns the number of pending jobs. The number may be out of date on return.
    pub fn pending(&self) -> usize {
        // Ordering: Relaxed, a plain count.
        self.pending.load(Ordering::Relaxed)
    }

    /// Returns the worker that waits, if it is one of the pool on which the jobs run and is
    /// isolated.
    pub(crate) fn isolated_waiter(&self) -> Option<WorkerIndex> {
        let (waiter, _) = self.isolated()?;
        // SAFETY: 1. by its lifetime the waiter outlives the latch.
        Some(unsafe { WorkerThread::address(waiter) }.1)
    }

    /// Returns what that worker waits for.
    pub(crate) fn isolated_wait(&self) -> Option<Awaited> {
        self.isolated().map(|(_, awaited)| awaited)
    }

    fn isolated(&self) -> Option<(*const WorkerThread<P>, Awaited)> {
        match &self.waiter {
            CountWaiter::Worker(latch, awaited)
                if !latch.cross && awaited.isolation != Isolation::Anything =>
            {
                Some((latch.waiter, *awaited))
            }
            CountWaiter::Worker(..) | CountWaiter::Outside(_) => None,
        }
    }

    /// Removes the waiter's own `count` jobs, which are done, and waits until all others are.
    /// `owner` is as for [`wait`](Self::wait). `outside` names the scopes that a worker looks at.
    pub(crate) fn remove_and_wait(
        &self,
        count: usize,
        owner: Option<&WorkerThread<P>>,
        outside: OutsideScopes,
    ) {
        // Ordering: Acquire pairs with the Release of `set`: if all others are done, what they
        // wrote is visible. If not, the latch that the last one sets makes it so. The
        // waiter itself receives what was written here, so there is no Release.
        if self.pending.fetch_sub(count, Ordering::Acquire) != count {
            self.wait_and_look(owner, outside);
        }
    }

    /// Waits until all jobs are done. `owner` is the worker that was passed to `new`; with another
    /// one, the process ends, because the waiting frame must not be left while jobs are pending.
    pub fn wait(&self, owner: Option<&WorkerThread<P>>) {
        self.wait_and_look(owner, OutsideScopes::None);
    }

    fn wait_and_look(&self, owner: Option<&WorkerThread<P>>, outside: OutsideScopes) {
        match &self.waiter {
            CountWaiter::Worker(latch, awaited) => no_unwind(|| {
                let owner = owner.filter(|owner| ptr::eq(*owner, latch.waiter));
                let owner = owner.expect("a worker's latch needs its worker");
                latch.wait(owner, awaited.with_outside(outside));
            }),
            CountWaiter::Outside(latch) => latch.wait(),
        }
    }
}

impl<P: Platform> Latch for CountLatch<'_, P> {
    type Platform = P;

    unsafe fn set(this: *const Self) {
        // SAFETY: the latch is alive (obligation 1) while its count is above zero, and if ours
        // was the last one until its waiter's latch is set, which copies what it needs. By
        // obligation 2 there is one last one, so that latch is set once; obligation 3 is forwarded
        // to our caller.
        unsafe {
            // Ordering: AcqRel. Release publishes what this job wrote to the thread that ends the
            // count. Acquire lets that thread gather what all jobs wrote, before it passes that on.
            if (*this).pending.fetch_sub(1, Ordering::AcqRel) == 1 {
                // The references end with the match: only pointers go on.
                match &(*this).waiter {
                    CountWaiter::Worker(latch, _) => Latch::set(ptr::from_ref(latch)),
                    CountWaiter::Outside(latch) => Latch::set(ptr::from_ref(latch)),
                }
            }
        }
    }
}
