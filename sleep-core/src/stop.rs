//! A latch that stops a worker, and that safe code may set.

use core::fmt;

use crate::{
    index::WorkerIndex,
    latch::CoreLatch,
    protocol::{SleepProtocol, set_latch},
};

#[cfg(all(test, not(loom)))]
mod tests;

/// A latch that tells one worker to stop.
///
/// [`CoreLatch::set`] is unsafe, because a latch may say that a frame is free while another thread
/// still uses it. This latch only says that its worker must stop: no memory safety may rest on it.
/// So [`set`](Self::set) and [`set_all`](Self::set_all) are safe, and they also wake the worker.
///
/// Each worker has its own, because a latch has one waiter.
///
/// # Examples
/// A worker that is told to stop, without an `unsafe` block:
/// ```
/// #![forbid(unsafe_code)]
/// use sleep_core::{
///     IdlePolicy, Inline, Jec, Parker, Purpose, SleepProtocol, Slot, StopLatch, WorkerIndex,
/// };
/// # use std::sync::atomic::{AtomicBool, Ordering};
/// # struct Spin(AtomicBool);
/// # impl Spin { const fn new() -> Self { Self(AtomicBool::new(false)) } }
/// # impl Parker for Spin {
/// #     fn park(&self) {
/// #         while !self.0.swap(false, Ordering::Acquire) { std::thread::yield_now() }
/// #     }
/// #     fn unpark(&self) { self.0.swap(true, Ordering::Release); }
/// # }
///
/// static SLEEP: Jec<Inline<Slot<Spin>, 2>> =
///     Jec::from_array([const { Slot::new(Spin::new()) }; 2], IdlePolicy::DEFAULT);
/// static STOP: [StopLatch; 2] = [const { StopLatch::new() }; 2];
///
/// fn work(me: WorkerIndex) {
///     let stop = &STOP[me.get()];
///     let mut idle = SLEEP.start_looking(me, Purpose::Job);
///     while !stop.probe() {
///         SLEEP.no_work_found(&mut idle, stop.latch(), || false);
///     }
///     SLEEP.work_found(idle, || false);
/// }
///
/// let workers = [0, 1].map(|index| SLEEP.worker(index).unwrap());
/// let threads = workers.map(|worker| std::thread::spawn(move || work(worker)));
/// StopLatch::set_all(&STOP, &SLEEP);
/// threads.map(|thread| thread.join().unwrap());
/// ```
pub struct StopLatch {
    latch: CoreLatch,
}

impl StopLatch {
    const_unless_loom! {
        /// Creates a latch that is not set.
        #[must_use]
        pub fn new() -> Self {
            Self { latch: CoreLatch::new() }
        }
    }

    /// Whether the worker must stop. If so, everything that happened before [`set`](Self::set) is
    /// visible.
    #[inline]
    #[must_use]
    pub fn probe(&self) -> bool {
        self.latch.probe()
    }

    /// Returns the latch for the worker's [`no_work_found`](SleepProtocol::no_work_found). The
    /// worker may also [reset](CoreLatch::reset) it, when it continues.
    #[inline]
    #[must_use]
    pub fn latch(&self) -> &CoreLatch {
        &self.latch
    }

    /// Tells `worker`, which alone waits for this latch, to stop. Wakes it if it sleeps.
    ///
    /// Never blocks; may be called from an interrupt.
    pub fn set(&self, sleep: &impl SleepProtocol, worker: WorkerIndex) {
        // SAFETY: 1. and 3. `self` and `sleep` are borrowed. 2. By our contract; a second waiter
        // would sleep on, and nothing worse. 4. It has happened that the worker has to stop; no
        // other code may take the latch for a sign that a frame is free.
        unsafe { set_latch(sleep, &raw const self.latch, worker) };
    }

    /// Tells all workers to stop. Each worker waits for the latch with its own number.
    ///
    /// # Panics
    /// If there is not one latch for each worker.
    pub fn set_all(latches: &[Self], sleep: &impl SleepProtocol) {
        let workers = sleep.num_workers();
        assert!(
            latches.len() == workers,
            "{} latches for {workers} workers",
            latches.len()
        );
        for (index, latch) in latches.iter().enumerate() {
            if let Ok(worker) = sleep.worker(index) {
                latch.set(sleep, worker);
            }
        }
    }
}

impl Default for StopLatch {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for StopLatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("StopLatch").field(&self.latch).finish()
    }
}
