//! Which thread has woken a worker.

use pool_core::{WokenBy, trace::TraceClock as _};

use super::clock::Ticks;
use crate::platform::WorkerThread;

/// A note in a worker's parker, left by the thread that unparks the worker.
pub(crate) struct WakeNote(pool_core::trace::WakeNote);

impl WakeNote {
    pub(crate) fn new() -> Self {
        Self(pool_core::trace::WakeNote::new())
    }

    /// Leaves a note. Must be called before the token is given.
    pub(crate) fn leave(&self) {
        // SAFETY: 1. the reference is not used after this call.
        let waker = unsafe { WorkerThread::current() };
        let waker = waker.map_or(0, |worker| {
            let workers = worker.registry().workers();
            let (_, (_, tracer)) = workers[worker.index().get()].observer();
            tracer.number()
        });
        let at = Ticks::now();
        self.0.set(WokenBy { waker, at });
    }

    pub(crate) fn take(&self) -> WokenBy {
        self.0.take()
    }
}
