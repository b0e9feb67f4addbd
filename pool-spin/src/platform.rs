//! The platform of cores, without allocator and without unwinding.

use core::{convert::Infallible, marker::PhantomData};

use pool_core::{
    Fixed, IntrusiveInjector, JobRef, ManagedWorker, Platform, Registry, Replaced, Slot, Waiter,
    WorkerShared, WorkerThread,
    progress::{Fences, Line},
};

use crate::{core_local::CoreLocal, machine::Machine, primitive::AtomicBool};

/// A platform for `N` workers with room for `JOBS` queued jobs each.
pub struct Cores<M, const N: usize, const JOBS: usize>(PhantomData<fn() -> M>);

// SAFETY: 1. `CoreLocal` promises it, and `downcast` tells the worker of another type of pool; 2. arrays give their own memory; 3. the pools are statics;
// 4. without unwinding a closure either returns or does not.
unsafe impl<M: Machine, const N: usize, const JOBS: usize> Platform for Cores<M, N, JOBS> {
    type Parker = M::Parker;
    type Slots = [Slot<M::Parker>; N];
    type Workers = [WorkerShared<Self>; N];
    type Storage = Fixed<JobRef, JOBS>;
    type Lines = [Line<M::Parker>; N];
    type Barrier = Fences;
    type Queue = IntrusiveInjector<'static, Option<JobRef>>;
    type Waiter = SpinWaiter;
    type Panic = Infallible;
    type Data = AtomicBool;
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
        // Where panics unwind all the same (on a host), no frame may be left that way: others use
        // it. A panic while a panic unwinds aborts.
        struct AbortOnUnwind;
        impl Drop for AbortOnUnwind {
            fn drop(&mut self) {
                panic!("a job of a pool without unwinding panicked");
            }
        }
        let abort = AbortOnUnwind;
        let result = closure();
        core::mem::forget(abort);
        Ok(result)
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
}

/// A core that is not a worker waits by spinning.
pub struct SpinWaiter(());

impl Waiter for SpinWaiter {
    fn current() -> Self {
        Self(())
    }

    fn park() {
        core::hint::spin_loop();
    }

    fn unpark(self) {}
}
