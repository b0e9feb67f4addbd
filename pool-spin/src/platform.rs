//! The platform of cores, without allocator and without unwinding.

use core::{convert::Infallible, marker::PhantomData};

use pool_core::{
    Fixed, IntrusiveInjector, JobRef, ManagedWorker, Platform, Registry, Replaced, Slot, Waiter,
    WorkerShared, WorkerThread,
    progress::{Fences, Line},
};

use crate::{parker::SpinParker, primitive::AtomicBool};

/// One pointer for each core: how a job finds out on which worker it runs.
///
/// On a board, a register that the software may use as it likes (`TPIDR_EL1`, `mscratch`, `GS`),
/// or an array indexed by the core's number. On a host, a thread-local variable.
///
/// Pools of different types may share one; a core is a worker of one pool at a time.
///
/// # Safety
/// 1. [`get`](Self::get) returns what [`set`](Self::set) was last given on the same core, or null
///    if there was nothing.
pub unsafe trait CoreLocal: 'static {
    /// This core's pointer.
    fn get() -> *const ();

    /// Changes this core's pointer.
    ///
    /// # Safety
    /// 1. Only a pool calls this: it follows the pointer.
    unsafe fn set(pointer: *const ());
}

/// A platform for `N` workers with room for `JOBS` queued jobs each.
pub struct Spin<C, const N: usize, const JOBS: usize>(PhantomData<fn() -> C>);

// SAFETY: 1. `CoreLocal` promises it, and `downcast` tells the worker of another type of pool; 2. arrays give their own memory; 3. the pools are statics;
// 4. without unwinding a closure either returns or does not.
unsafe impl<C: CoreLocal, const N: usize, const JOBS: usize> Platform for Spin<C, N, JOBS> {
    type Parker = SpinParker;
    type Slots = [Slot<SpinParker>; N];
    type Workers = [WorkerShared<Self>; N];
    type Storage = Fixed<JobRef, JOBS>;
    type Lines = [Line<SpinParker>; N];
    type Barrier = Fences;
    type Queue = IntrusiveInjector<'static, Option<JobRef>>;
    type Waiter = SpinWaiter;
    type Panic = Infallible;
    type Data = AtomicBool;
    type KeepAlive = ();

    fn current() -> *const WorkerThread<Self> {
        // SAFETY: 1. only pools set the pointer, to null or to a worker that is in place until it
        // is set again.
        unsafe { WorkerThread::downcast(C::get()) }
    }

    unsafe fn set_current(worker: *const WorkerThread<Self>) {
        // SAFETY: 1. a pool calls this.
        unsafe { C::set(worker.cast()) };
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
