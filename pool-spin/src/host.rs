//! pool-spin on a machine with an operating system: threads take the place of cores.
//!
//! Intended for first steps, for examples, and for tests of code that will run on a board. An
//! application for such a machine should use `pool-std`, whose workers sleep in the operating
//! system.
//!
//! Needs the feature `host`.
//!
//! # Examples
//! ```
//! use pool_spin::{Cores, SpinPool, Worker, host::{self, Host}};
//!
//! type Chip = Cores<Host, 2, 64>;
//! static POOL: SpinPool<Chip> = SpinPool::new();
//!
//! fn sum(core: Worker<Chip>, values: &[u32]) -> u32 {
//!     if values.len() <= 64 {
//!         return values.iter().sum();
//!     }
//!     let (left, right) = values.split_at(values.len() / 2);
//!     let (a, b) = core.join(|core| sum(core, left), |core| sum(core, right));
//!     a + b
//! }
//!
//! let values: Vec<u32> = (1..=1000).collect();
//! let total = host::with_workers(&POOL, || POOL.install(|core| sum(core, &values)));
//! assert_eq!(total, 500_500);
//! ```

extern crate std;

use core::{cell::Cell, ptr};
use std::{thread, vec::Vec};

use spin::RelaxStrategy;

#[cfg(feature = "deadlock")]
use crate::machine::{InterruptLock, Interrupts};
use crate::{
    machine::{CoreLocal, Machine, Spin},
    pool::{ExitReason, SpinPool, System},
};

/// A [`Machine`] whose cores are threads.
///
/// Idle workers, and threads that wait for the pool, spin and yield to other threads.
#[derive(Debug, Clone, Copy)]
pub struct Host(());

// SAFETY: 1. A thread-local variable is null at first, and this module alone uses it. 2. The system
// may move and pre-empt threads, but runs nothing else on a thread in between.
unsafe impl Machine for Host {
    type Local = ThreadLocal;
    type Parker = Spin<Yield>;
}

std::thread_local! {
    static POINTER: Cell<*const ()> = const { Cell::new(ptr::null()) };
}

/// A [`CoreLocal`] pointer in a thread-local variable.
#[derive(Debug, Clone, Copy)]
pub struct ThreadLocal(());

// SAFETY: 1. Each thread has a variable of its own, which nothing else writes.
unsafe impl CoreLocal for ThreadLocal {
    fn get() -> *const () {
        POINTER.get()
    }

    unsafe fn set(pointer: *const ()) {
        POINTER.set(pointer);
    }
}

/// Relaxes by yielding to another thread: there may be fewer processors than workers.
#[derive(Debug, Clone, Copy)]
pub struct Yield(());

impl RelaxStrategy for Yield {
    fn relax() {
        thread::yield_now();
    }
}

/// The lock of a pool of threads that [detects deadlocks](crate::deadlock): a spin lock that
/// yields.
#[cfg(feature = "deadlock")]
pub type HostLock = InterruptLock<NoInterrupts, Yield>;

/// The [`Interrupts`] of a thread, which has none.
#[cfg(feature = "deadlock")]
#[derive(Debug, Clone, Copy)]
pub struct NoInterrupts(());

#[cfg(feature = "deadlock")]
impl Interrupts for NoInterrupts {
    type State = ();

    fn mask() {}

    fn restore((): ()) {}

    fn halt() {
        thread::yield_now();
    }
}

/// Runs a closure while each of a pool's workers runs on a thread, and [ends](SpinPool::end) the
/// pool.
///
/// The closure is called on this thread, which is not a worker, once all workers have arrived.
///
/// # Panics
/// If the pool has ended, or if one of its workers is already running.
pub fn with_workers<S: System, R>(pool: &'static SpinPool<S>, body: impl FnOnce() -> R) -> R {
    /// Ends the pool when the closure panics, too: otherwise the threads would never return.
    struct EndOnDrop<S: System>(&'static SpinPool<S>);
    impl<S: System> Drop for EndOnDrop<S> {
        fn drop(&mut self) {
            self.0.end();
        }
    }

    thread::scope(|threads| {
        let _end = EndOnDrop(pool);
        let run = |index| move || assert_eq!(pool.run_worker(index), Ok(ExitReason::Ended));
        let workers: Vec<_> = (0..S::CORES).map(|it| threads.spawn(run(it))).collect();
        while !have_all_arrived(pool) {
            let has_failed = workers.iter().any(thread::ScopedJoinHandle::is_finished);
            assert!(!has_failed, "a worker of the pool is running already");
            thread::yield_now();
        }
        body()
    })
}

/// Waits until each of a pool's workers has arrived.
///
/// # Panics
/// If the pool has ended.
pub fn wait_for_workers<S: System>(pool: &'static SpinPool<S>) {
    while !have_all_arrived(pool) {
        thread::yield_now();
    }
}

fn have_all_arrived<S: System>(pool: &'static SpinPool<S>) -> bool {
    !pool.broadcast(|_| ()).as_ref().contains(&None)
}
