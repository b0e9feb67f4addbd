//! One job for each worker that is there.

use core::{cell::UnsafeCell, ptr::NonNull};

use pool_core::{CountLatch, Job, JobHeader, JobRef, Latch, Registry, WorkerThread};

use super::{SpinPool, arena::JobNode, platform::run, system::System, worker::Worker};
use crate::primitive::{AtomicBool, Ordering, spin_loop};

impl<S: System> SpinPool<S> {
    /// Runs a closure on each worker that is there now, also on those that sleep, and waits for all
    /// of them. The results are by the workers' numbers, `None` where no core is the worker.
    ///
    /// On a worker, it is run here too. A core that is no worker waits by spinning.
    ///
    /// # Panics
    /// If the pool has ended.
    pub fn broadcast<F, R>(&'static self, closure: F) -> S::PerCore<Option<R>>
    where
        F: Fn(Worker<'_, S>) -> R + Sync,
        R: Send,
    {
        let _reference = self.hold();
        let registry = self.registry();
        // SAFETY: 1. used in this call only, during which nothing leaves.
        let owner = unsafe { WorkerThread::current() };
        let done = CountLatch::new(owner, registry);
        let mut jobs = S::per_core(|_| BroadcastJob::new(&closure, &done));
        // The frame must not be left while others have jobs in it.
        run(|| send(registry, jobs.as_ref(), &done));
        // SAFETY: 1. it is alive; only after `wait` may it end; 2. for the job that a new latch
        // counts; 3. pools are statics.
        unsafe { Latch::set(&raw const done) };
        done.wait(owner);
        S::per_core(|index| jobs.as_mut()[index].result.get_mut().take())
    }
}

/// Gives each worker that is there its job.
fn send<S, F, R>(
    registry: &Registry<S>,
    jobs: &[BroadcastJob<'_, S, F, R>],
    done: &CountLatch<'_, S>,
) where
    S: System,
    F: Fn(Worker<'_, S>) -> R + Sync,
    R: Send,
{
    let data = registry.data();
    let _order = Locked::new(&data.is_broadcasting);
    for (index, (job, gate)) in jobs.iter().zip(data.gates.as_ref()).enumerate() {
        if !gate.enter() {
            continue;
        }
        done.increment();
        let node = NonNull::new(job.node.get()).expect("it is in the job");
        let worker = registry.worker(index).expect("counted");
        // SAFETY: 1. and 2. the jobs stay until all are done; closure and result may be used by any
        // thread. 1. of `inject_for`: the node is the job's alone.
        unsafe { registry.inject_for(worker, node, JobRef::new(job)) };
        gate.exit();
    }
}

/// Broadcasts are queued one after the other: the lock is held while that is done, and by nobody
/// who waits for anything.
struct Locked<'a>(&'a AtomicBool);

impl<'a> Locked<'a> {
    fn new(lock: &'a AtomicBool) -> Self {
        // Ordering: Acquire pairs with `drop`: the other broadcast is queued.
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
struct BroadcastJob<'a, S: System, F, R> {
    header: JobHeader,
    node: UnsafeCell<JobNode>,
    closure: &'a F,
    result: UnsafeCell<Option<R>>,
    done: *const CountLatch<'a, S>,
}

impl<'a, S, F, R> BroadcastJob<'a, S, F, R>
where
    S: System,
    F: Fn(Worker<'_, S>) -> R + Sync,
    R: Send,
{
    fn new(closure: &'a F, done: &CountLatch<'a, S>) -> Self {
        Self {
            header: JobHeader::new::<Self>(),
            node: UnsafeCell::new(JobNode::new(None)),
            closure,
            result: UnsafeCell::new(None),
            done,
        }
    }
}

// SAFETY: 1. the header comes first; `new` makes it for this type.
unsafe impl<S, F, R> Job for BroadcastJob<'_, S, F, R>
where
    S: System,
    F: Fn(Worker<'_, S>) -> R + Sync,
    R: Send,
{
    unsafe fn execute(this: *const ()) {
        let this = this.cast::<Self>();
        // SAFETY: 1. used in this call only; jobs are run by workers.
        let worker = unsafe { WorkerThread::current() }.expect("jobs run on workers");
        // SAFETY: by obligation 1 the job is valid until the latch is set, and by 2. nobody else
        // touches its result until then. `Latch::set`: 1. `broadcast` waits for it; 2. `send` has
        // counted this job; 3. pools are statics.
        unsafe {
            *(*this).result.get() = Some(run(|| ((*this).closure)(Worker(worker))));
            Latch::set((*this).done);
        }
    }
}
