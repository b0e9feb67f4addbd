//! What stands for `trace.rs` without the feature `trace`. All of it is compiled away.

use pool_core::{Clock, Event, Observer, WokenBy};

use crate::thread_pool::error::BuildError;

/// The rings of a pool: none.
#[derive(Default)]
pub(crate) struct PoolRings;

impl PoolRings {
    pub(crate) fn new(_workers: usize, _requested: Option<usize>) -> Result<Self, BuildError> {
        Ok(Self)
    }
}

/// Observes nothing.
pub(crate) struct WorkerTracer;

impl WorkerTracer {
    pub(crate) fn new(_rings: &PoolRings, _worker: usize) -> Self {
        Self
    }
}

impl Observer for WorkerTracer {
    #[inline(always)]
    fn observe(&self, _event: Event, _clock: Clock) {}
}

/// Runs a closure.
#[inline(always)]
pub(crate) fn labeled<R>(_label: &'static &'static str, closure: impl FnOnce() -> R) -> R {
    closure()
}

/// Says nothing of who has woken a worker.
pub(crate) struct WakeNote;

impl WakeNote {
    pub(crate) fn new() -> Self {
        Self
    }

    #[inline(always)]
    pub(crate) fn leave(&self) {}

    #[inline(always)]
    pub(crate) fn take(&self) -> WokenBy {
        WokenBy::UNKNOWN
    }
}
