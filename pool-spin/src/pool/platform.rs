//! The platform of cores, without allocator and without unwinding.

use core::convert::Infallible;

use crossbeam_utils::CachePadded;
use pool_core::{
    Fixed, Jec, JobRef, ManagedWorker, Platform, Registry, Replaced, Slot, Waiter, WorkerShared,
    WorkerThread, progress::Line,
};

use super::{
    arena::{Arena, JobInjector},
    counting::Counting,
    lifecycle::{Gate, Lifecycle},
    statistics::Counter,
    system::{Cores, System},
};
use crate::{
    machine::CoreLocal,
    machine::Machine,
    primitive::{AtomicBool, spin_loop},
};

/// What is kept with a pool beside its workers' queues.
pub struct PoolData<S: System> {
    pub(crate) lifecycle: Lifecycle,
    pub(crate) gates: S::Gates,
    /// Held while a broadcast is queued: all workers get all broadcasts in one order.
    pub(crate) is_broadcasting: AtomicBool,
    /// For spawned closures.
    pub(crate) arena: S::Arena,
    /// Jobs and steals of each worker, on a cache line of its own.
    pub(crate) counters: S::Counters,
}

impl<M: Machine, const CORES: usize, const JOBS: usize> PoolData<Cores<M, CORES, JOBS>> {
    pub(crate) const fn new() -> Self {
        Self {
            lifecycle: Lifecycle::new(),
            gates: [const { Gate::new() }; CORES],
            is_broadcasting: AtomicBool::new(false),
            arena: Arena::new(),
            counters: [const { CachePadded::new([Counter::new(), Counter::new()]) }; CORES],
        }
    }
}

// SAFETY: 1. `CoreLocal` promises it, and `downcast` tells the worker of another type of pool; 2.
// arrays give their own memory; 3. the pools are statics; 4. without unwinding a closure either
// returns or does not; 5. nothing is ever replaced; 6. nothing here panics, but what a machine brings
// along, which counts as a panic of a job and aborts.
unsafe impl<M: Machine, const CORES: usize, const JOBS: usize> Platform for Cores<M, CORES, JOBS> {
    type Parker = Counting<M::Parker>;
    type Sleep = Jec<Self::Parker, [Slot<Self::Parker>; CORES]>;
    type Workers = [WorkerShared<Self>; CORES];
    type Storage = Fixed<JobRef, JOBS>;
    type Progress = (Self::Parker, [Line<Self::Parker>; CORES]);
    type Queue = JobInjector;
    type Waiter = SpinWaiter;
    type Panic = Infallible;
    type Data = PoolData<Self>;
    type KeepAlive = ();

    fn current() -> *const WorkerThread<Self> {
        // SAFETY: 1. only pools set the pointer, to null or to a worker that is in place until it
        // is set again.
        unsafe { WorkerThread::downcast(M::Local::get()) }
    }

    unsafe fn set_current(worker: *const WorkerThread<Self>) {
        // SAFETY: 1. a pool calls this.
        unsafe { M::Local::set(worker.cast()) };
    }

    fn catch_unwind<R>(closure: impl FnOnce() -> R) -> Result<R, Infallible> {
        Ok(run(closure))
    }

    fn resume_unwind(panic: Infallible) -> ! {
        match panic {}
    }

    unsafe fn keep_alive(_registry: *const Registry<Self>) {}

    fn free_later(_worker: &mut ManagedWorker<Self>, replaced: Replaced<Self>) {
        match replaced {}
    }

    fn random_seed() -> u64 {
        // Victims are chosen in an order that starts elsewhere for each worker: the address of
        // its own stack differs.
        let here = 0_u8;
        (&raw const here).addr() as u64
    }

    fn takes_job(worker: &WorkerThread<Self>) {
        worker.registry().data().counters[worker.index().get()][0].count();
    }

    fn has_stolen(worker: &WorkerThread<Self>) {
        worker.registry().data().counters[worker.index().get()][1].count();
    }
}

/// Runs a closure that must not unwind. Where panics do all the same (on a host), no frame may be
/// left that way: others use it. So this aborts.
pub(super) fn run<R>(closure: impl FnOnce() -> R) -> R {
    /// A panic while a panic unwinds aborts.
    struct AbortOnUnwind;
    impl Drop for AbortOnUnwind {
        fn drop(&mut self) {
            panic!("a job of a pool without unwinding panicked");
        }
    }
    let abort = AbortOnUnwind;
    let result = closure();
    core::mem::forget(abort);
    result
}

/// A core that is not a worker waits by spinning.
pub struct SpinWaiter(());

impl Waiter for SpinWaiter {
    fn current() -> Self {
        Self(())
    }

    fn park() {
        spin_loop();
    }

    fn unpark(self) {}
}
