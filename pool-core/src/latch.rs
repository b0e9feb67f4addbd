//! Latches: one event, one thread that waits for it, and the threads that set it.

use core::{fmt, marker::PhantomData};

use sleep_core::{CoreLatch, WorkerIndex};

use crate::{
    isolation::Isolation,
    platform::{Platform, Waiter},
    primitive::{AtomicBool, AtomicUsize, Ordering},
    registry::Registry,
    unwind::no_unwind,
    worker::{Awaited, OutsideScopes, WorkerThread},
};

#[cfg(test)]
mod tests;

/// An event that is set once.
///
/// # Examples
/// A job for which a thread outside the pool waits:
/// ```
/// use std::ptr::NonNull;
///
/// use pool_core::{
///     BlockingLatch, Job, JobHeader, JobQueue as _, JobRef, Latch as _, Platform, Registry,
/// };
///
/// #[repr(C)]
/// struct Ping<P: Platform> {
///     header: JobHeader,
///     done: BlockingLatch<P>,
/// }
///
/// // SAFETY: 1. the header comes first, and is made for this type.
/// unsafe impl<P: Platform> Job for Ping<P> {
///     unsafe fn execute(this: *const ()) {
///         let this: *const Self = this.cast();
///         // SAFETY: 1. the thread that waits keeps the job until then; 2. a job is run once; 3.
///         // it is not a latch of a pool.
///         unsafe { BlockingLatch::set(&raw const (*this).done) };
///     }
/// }
///
/// /// Returns when a worker has run a job.
/// fn ping<P: Platform>(registry: &Registry<P>) {
///     let job = Ping::<P> {
///         header: JobHeader::new::<Ping<P>>(),
///         done: BlockingLatch::new(),
///     };
///     let mut node = P::Queue::node();
///     // SAFETY: `inject` and `new`: 1. both live until the job has been run, which `wait` waits
///     // for. `new`: 2. what the job has is `Sync`.
///     unsafe { registry.inject(NonNull::from(&mut node), JobRef::new(&raw const job)) };
///     job.done.wait();
/// }
/// ```
pub trait Latch {
    /// The platform of the waiter, and of the workers that set the latch.
    type Platform: Platform;

    /// Sets the latch and wakes the thread that waits.
    ///
    /// Takes a pointer, since the waiter may go on, and end the frame that holds the latch, before
    /// the call returns (rayon#739, #929).
    ///
    /// # Safety
    /// 1. `this` points to a live latch when the call begins.
    /// 2. It is called once for each latch, when what the waiter waits for has happened; for a
    ///    [`CountLatch`], once for each job that was pending.
    /// 3. If the latch was made for jobs that run on a certain pool, as [`SpinLatch::new`] and
    ///    [`CountLatch::new`] do, a worker of that pool calls it, or a thread that keeps that pool
    ///    alive meanwhile.
    unsafe fn set(this: *const Self);
}

/// A latch that a worker waits on. Meanwhile it searches for other work, and sleeps when there is
/// none.
///
/// It cannot outlive its worker:
/// ```compile_fail,E0515
/// use pool_core::{Platform, SpinLatch, WorkerThread};
///
/// fn leave_behind<P: Platform>(worker: WorkerThread<P>) -> SpinLatch<'static, P> {
///     SpinLatch::cross(&worker)
/// }
/// ```
pub struct SpinLatch<'w, P: Platform> {
    core: CoreLatch,
    /// Other threads read only what never changes. A pointer, since the waiter may be gone when
    /// `set` returns.
    waiter: *const WorkerThread<P>,
    /// Whether the setter may belong to another pool. Then nothing but the setter's call keeps the
    /// waiter's pool alive.
    cross: bool,
    /// The waiter outlives the latch.
    lifetime: PhantomData<&'w WorkerThread<P>>,
}

impl<P: Platform> fmt::Debug for SpinLatch<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpinLatch")
            .field("core", &self.core)
            .field("cross", &self.cross)
            .finish_non_exhaustive()
    }
}

// SAFETY: of the waiter, other threads read its registry and its number, which never change; the
// registry is made for sharing, as the bounds of `Platform` demand; the rest is shared atomics or
// never changes.
unsafe impl<P: Platform> Sync for SpinLatch<'_, P> {}
// SAFETY: as above; a latch that is moved has no setter yet, or none any more.
unsafe impl<P: Platform> Send for SpinLatch<'_, P> {}

impl<'w, P: Platform> SpinLatch<'w, P> {
    /// Creates a latch for a job that runs on the waiter's own pool.
    #[inline]
    pub fn new(waiter: &'w WorkerThread<P>) -> Self {
        Self {
            core: CoreLatch::new(),
            waiter,
            cross: false,
            lifetime: PhantomData,
        }
    }

    /// Creates a latch for a job that runs anywhere.
    pub fn cross(waiter: &'w WorkerThread<P>) -> Self {
        Self {
            cross: true,
            ..Self::new(waiter)
        }
    }

    /// Returns the part that the waiter probes.
    #[inline]
    pub fn core(&self) -> &CoreLatch {
        &self.core
    }

    /// Runs other jobs until the latch is set, on the worker that the latch was made for.
    fn wait(&self, waiter: &WorkerThread<P>, awaited: Awaited) {
        if self.cross {
            waiter.wait_for_outside(&self.core);
        } else {
            waiter.wait_for(awaited, &self.core);
        }
    }
}

impl<P: Platform> Latch for SpinLatch<'_, P> {
    type Platform = P;

    #[inline]
    unsafe fn set(this: *const Self) {
        // SAFETY: the latch is alive (obligation 1), and what the waiter waits for has happened
        // (obligation 2). The latch stays alive until `CoreLatch::set`, and so does its waiter, and
        // all that is needed after it is copied before: by its lifetime it outlives the
        // latch. The registry lives on: the setter keeps it alive (obligation 3), or
        // `keep_alive` holds it, which we call while the waiter cannot leave yet.
        unsafe {
            let (registry, worker) = WorkerThread::address((*this).waiter);
            let _held = (*this).cross.then(|| P::keep_alive(registry));
            (*registry).set_latch(&raw const (*this).core, worker);
        }
    }
}

/// A latch that a thread outside the pool waits on: it blocks.
///
/// # Examples
/// See [`Latch`].
pub struct BlockingLatch<P: Platform> {
    set: AtomicBool,
    waiter: core::mem::ManuallyDrop<P::Waiter>,
}

impl<P: Platform> fmt::Debug for BlockingLatch<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlockingLatch").finish_non_exhaustive()
    }
}

// SAFETY: only the one setter touches the handle, by moving it out; hence `Waiter: Send`.
unsafe impl<P: Platform> Sync for BlockingLatch<P> {}

impl<P: Platform> BlockingLatch<P> {
    /// Creates a latch for the thread that calls.
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
            no_unwind(P::Waiter::park);
        }
    }
}

impl<P: Platform> Drop for BlockingLatch<P> {
    fn drop(&mut self) {
        // Ordering: Relaxed; the waiter has already received what the setter wrote.
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
    type Platform = P;

    unsafe fn set(this: *const Self) {
        // SAFETY: the latch is alive (obligation 1) until the flag is set. The handle is moved out
        // before, by this call alone (obligation 2), and the latch does not drop it.
        unsafe {
            let waiter = (&raw const (*this).waiter).cast::<P::Waiter>().read();
            // Ordering: Release pairs with `wait`.
            (*this).set.store(true, Ordering::Release);
            waiter.unpark();
        }
    }
}

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
    /// Creates a latch with one job pending: the one that is going to wait. `owner` is the worker
    /// that this thread is, if any; the jobs run on `registry`.
    pub fn new(owner: Option<&'w WorkerThread<P>>, registry: &Registry<P>) -> Self {
        let waiter = match owner {
            Some(owner) => {
                let latch = if core::ptr::eq(owner.registry(), registry) {
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

    /// Adds pending jobs. Only while one is pending.
    ///
    /// # Panics
    /// If more than `isize::MAX` jobs would be pending. The process ends then if `count` is 128 or
    /// less.
    #[inline]
    pub fn increment(&self, count: usize) {
        // A count that begins again at zero would end the wait while jobs are pending.
        const LIMIT: usize = isize::MAX.cast_unsigned();
        const SMALL: usize = 128;
        // Ordering: Relaxed, a plain count: the caller's own job keeps it from reaching zero.
        if count <= SMALL {
            if self.pending.fetch_add(count, Ordering::Relaxed) > LIMIT - SMALL {
                no_unwind(|| panic!("too many jobs"));
            }
            return;
        }
        self.increment_by_many(count, LIMIT - SMALL);
    }

    #[cold]
    fn increment_by_many(&self, count: usize, limit: usize) {
        let mut pending = self.pending();
        loop {
            let sum = pending.checked_add(count).filter(|&sum| sum <= limit);
            let sum = sum.expect("too many jobs");
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

    /// Returns how many jobs are pending. The number may be out of date on return.
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

    /// Waits until all jobs are done. `owner` is the worker that `new` was called with; with
    /// another one the process ends, since the frame that waits must not be left while jobs are
    /// pending.
    pub fn wait(&self, owner: Option<&WorkerThread<P>>) {
        self.wait_and_look(owner, OutsideScopes::None);
    }

    fn wait_and_look(&self, owner: Option<&WorkerThread<P>>, outside: OutsideScopes) {
        match &self.waiter {
            CountWaiter::Worker(latch, awaited) => no_unwind(|| {
                let owner = owner.filter(|owner| core::ptr::eq(*owner, latch.waiter));
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
                    CountWaiter::Worker(latch, _) => Latch::set(core::ptr::from_ref(latch)),
                    CountWaiter::Outside(latch) => Latch::set(core::ptr::from_ref(latch)),
                }
            }
        }
    }
}
