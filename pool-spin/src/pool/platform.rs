//! The platform of cores, without allocator and without unwinding.

use core::{convert::Infallible, fmt, marker::PhantomData};

use pool_core::{
    Fixed, JobInjector, JobRef, ManagedWorker, Parker as _, Platform, Registry, Replaced, Waiter,
    WorkerIndex, WorkerShared, WorkerThread, progress::Participant,
};

use super::{
    lifecycle::Lifecycle,
    observer::WorkerObserver,
    overflow::Overflow,
    system::{Cores, Detection, Protocol, System},
};
use crate::{
    machine::{CoreLocal, CoreParker as _, Machine},
    primitive::AtomicBool,
};

/// The part of a pool that is not in its registry's queues, counters and slots.
pub struct PoolData<S: System> {
    pub(crate) lifecycle: Lifecycle,
    pub(crate) gates: S::Gates,
    /// Held while a broadcast is queued, so that all workers receive all broadcasts in one order.
    pub(crate) is_broadcasting: AtomicBool,
    /// Room for spawned closures.
    pub(crate) arena: S::Arena,
    /// The place for a closure that finds the arena of its scope full.
    pub(crate) overflow: Overflow<S>,
}

impl<S: System> fmt::Debug for PoolData<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PoolData").finish_non_exhaustive()
    }
}

// SAFETY: 1. By the contract of `CoreLocal`; `downcast` recognizes the worker of another type of
// pool. 2. Pools are statics. 3. Without unwinding, a closure either returns or does not. 4. Deques
// of a fixed size replace nothing. 5. Nothing here panics except the functions of a machine; such a
// panic counts as a panic of a job and aborts.
unsafe impl<M: Machine, const CORES: usize, const JOBS: usize, K: Protocol<M::Parker>, D: Detection>
    Platform for Cores<M, CORES, JOBS, K, D>
{
    type Parker = M::Parker;
    type Sleep = K;
    type Workers = [WorkerShared<Self>; CORES];
    type Storage = Fixed<JobRef, JOBS>;
    type Progress = (Self::Parker, [Participant<Self::Parker>; CORES]);
    type Queue = JobInjector;
    type Waiter = SpinWaiter<M>;
    type Observer = WorkerObserver<M>;
    type Deadlock = D;
    type Panic = Infallible;
    type Data = PoolData<Self>;
    type KeepAlive = ();

    fn current() -> *const WorkerThread<Self> {
        // SAFETY: 1. Only pools set the pointer: to null, or to a worker that stays in place until
        // the pointer is set again.
        unsafe { WorkerThread::downcast(M::Local::get()) }
    }

    unsafe fn set_current(worker: *const WorkerThread<Self>) {
        // SAFETY: 1. A pool calls this.
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

    fn random_seed(_registry: &Registry<Self>, _worker: WorkerIndex) -> u64 {
        // Each worker has a stack of its own, so the address differs from worker to worker.
        let here = 0_u8;
        (&raw const here).addr() as u64
    }

    #[cfg(feature = "trace")]
    fn woken_by(parker: &M::Parker) -> pool_core::WokenBy {
        run(|| parker.woken_by())
    }

    fn now() -> Option<u64> {
        run(M::nanoseconds)
    }
}

/// Runs a closure that must not unwind.
///
/// If panics unwind anyway, as on a host, this aborts: other threads use the frames that unwinding
/// would leave.
pub(super) fn run<R>(closure: impl FnOnce() -> R) -> R {
    /// Aborts if it is dropped during unwinding: a panic inside a panic aborts.
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

/// How a core that is not a worker waits: it spins. Between two looks, it does what the machine's
/// parkers do between two searches, which on a host lets other threads run.
pub struct SpinWaiter<M>(PhantomData<fn() -> M>);

impl<M> fmt::Debug for SpinWaiter<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SpinWaiter")
    }
}

impl<M: Machine> Waiter for SpinWaiter<M> {
    fn current() -> Self {
        Self(PhantomData)
    }

    fn park() {
        let parker = M::Parker::NEW;
        parker.relax();
    }

    fn unpark(self) {}
}
