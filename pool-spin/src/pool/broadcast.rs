//! Broadcasts: one job for each present worker.

use core::{cell::UnsafeCell, ptr::NonNull};

use pool_core::{CountLatch, Isolation, Job, JobHeader, JobRef, Latch, Registry, WorkerThread};

use super::{SpinPool, arena::JobNode, platform::run, system::System, worker::Worker};
use crate::primitive::{AtomicBool, Ordering, spin_loop};

impl<S: System> SpinPool<S> {
    /// Runs a closure on each worker that is present now, including sleeping workers, and returns
    /// all results: an array indexed by the worker's number, with `None` where no core is the
    /// worker.
    ///
    /// If this core is a worker, the closure also runs here, unless the worker is leaving and this
    /// is called from a job that it runs meanwhile, such as a job of another broadcast. A core that
    /// is not a worker spins until all have run.
    ///
    /// # Panics
    /// If the pool has ended, unless this core is one of its workers.
    ///
    /// # Examples
    /// ```
    /// use pool_spin::{Cores, SpinPool, host::{self, Host}};
    ///
    /// static POOL: SpinPool<Cores<Host, 3, 64>> = SpinPool::new();
    ///
    /// assert_eq!(POOL.broadcast(|core| core.index()), [None; 3]);
    /// host::with_workers(&POOL, || {
    ///     let squares = POOL.broadcast(|core| core.index() * core.index());
    ///     assert_eq!(squares, [Some(0), Some(1), Some(4)]);
    /// });
    /// ```
    pub fn broadcast<F, R>(&'static self, closure: F) -> S::PerCore<Option<R>>
    where
        F: Fn(Worker<'_, S>) -> R + Sync,
        R: Send,
    {
        let _reference = self.hold();
        let registry = self.registry();
        // SAFETY: 1. The reference is used only in this call, during which the worker does not
        // leave.
        let owner = unsafe { WorkerThread::current() };
        let done = CountLatch::new(owner, registry);
        let caller = owner.filter(|owner| core::ptr::eq(owner.registry(), registry));
        let isolation = caller.map_or(Isolation::Anything, WorkerThread::isolation);
        let mut jobs = S::per_core(|_| BroadcastJob::new(&closure, isolation, &done));
        // This frame must not be left while other workers have jobs in it.
        run(|| send(registry, jobs.as_ref(), &done));
        // SAFETY: 1. The latch is alive until `wait` returns. 2. This is for the job that a new
        // latch counts. 3. Pools are statics.
        unsafe { Latch::set(&raw const done) };
        done.wait(owner);
        S::per_core(|index| jobs.as_mut()[index].result.get_mut().take())
    }
}

/// Queues a job for each worker that is present.
fn send<S: System, R: Send>(
    registry: &Registry<S>,
    jobs: &[BroadcastJob<'_, S, R>],
    done: &CountLatch<'_, S>,
) {
    let data = registry.data();
    let _order = Locked::new(&data.is_broadcasting);
    for (index, (job, gate)) in jobs.iter().zip(data.gates.as_ref()).enumerate() {
        if !gate.enter() {
            continue;
        }
        done.increment(1);
        let node = NonNull::new(job.node.get()).expect("the address of a field is not null");
        let worker = registry
            .worker(index)
            .expect("there is a gate for each worker");
        // SAFETY: `JobRef::new`: 1. and 2. The jobs stay in place until all are done; any thread
        // may use the closure and the result. `inject_for`: 1. The node belongs to the job alone.
        unsafe { registry.inject_for(worker, node, JobRef::new(job)) };
        gate.exit();
    }
}

/// Holds the lock under which broadcasts are queued one after another. A thread that holds it waits
/// for nothing.
struct Locked<'a>(&'a AtomicBool);

impl<'a> Locked<'a> {
    fn new(lock: &'a AtomicBool) -> Self {
        // Ordering: Acquire pairs with `drop`: the other broadcast has been queued.
        //
        // Liveness: the holder queues one job per worker and waits for nothing.
        while lock.swap(true, Ordering::Acquire) {
            spin_loop();
        }
        Self(lock)
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        // Ordering: Release pairs with `new`.
        self.0.store(false, Ordering::Release);
    }
}

/// One worker's part of a broadcast.
#[repr(C)]
struct BroadcastJob<'a, S: System, R> {
    header: JobHeader,
    node: UnsafeCell<JobNode>,
    closure: &'a (dyn Fn(Worker<'_, S>) -> R + Sync),
    /// What the caller, and so this job, may run while it waits.
    isolation: Isolation,
    result: UnsafeCell<Option<R>>,
    done: *const CountLatch<'a, S>,
}

impl<'a, S: System, R: Send> BroadcastJob<'a, S, R> {
    fn new(
        closure: &'a (dyn Fn(Worker<'_, S>) -> R + Sync),
        isolation: Isolation,
        done: &CountLatch<'a, S>,
    ) -> Self {
        Self {
            header: JobHeader::new::<Self>(),
            node: UnsafeCell::new(JobNode::new(None)),
            closure,
            isolation,
            result: UnsafeCell::new(None),
            done,
        }
    }
}

// SAFETY: 1. The header is the first field; `new` makes it for this type.
unsafe impl<S: System, R: Send> Job for BroadcastJob<'_, S, R> {
    unsafe fn execute(this: *const ()) {
        let this = this.cast::<Self>();
        // SAFETY: 1. The reference is used only in this call; jobs run on workers.
        let worker = unsafe { WorkerThread::current() }.expect("jobs run on workers");
        // SAFETY: by obligation 1, the job is valid until the latch is set, and by obligation 2, no
        // other thread touches its result until then. `Latch::set`: 1. `broadcast` waits for the
        // latch. 2. `send` has counted this job. 3. Pools are statics.
        unsafe {
            let call = || ((*this).closure)(Worker(worker));
            *(*this).result.get() = Some(run(|| worker.isolate((*this).isolation, call)));
            Latch::set((*this).done);
        }
    }
}
