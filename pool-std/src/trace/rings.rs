//! The rings of a pool's workers.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use pool_core::{
    Clock, Event, Observer,
    trace::{TraceSlot, Tracer},
};

use super::{
    at_exit,
    clock::{self, Ticks},
};
use crate::thread_pool::{environment, error::BuildError};

/// How many events a worker keeps if the environment asks for a trace.
const DEFAULT_EVENTS: usize = (1 << 16) - 1;
/// How many slots the workers of such a pool have together: 128 MiB of them, or up to twice as many
/// because each worker's number is rounded up. A worker has a thousand at least.
const DEFAULT_SLOTS: usize = 1 << 22;
/// How many events a worker can keep: 512 MiB of them.
pub(super) const MAX_EVENTS: usize = (1 << 24) - 1;

/// The ring of one worker. Aligned so that no two workers write to one cache line.
#[repr(align(128))]
pub(crate) struct WorkerRing {
    tracer: Tracer<Box<[TraceSlot]>, Ticks>,
    /// Which pool of the process, from 1 on.
    pub(super) pool: u32,
    /// Which worker of the pool.
    pub(super) worker: usize,
    /// Which worker of the process, from 1 on.
    pub(super) number: u32,
}

impl WorkerRing {
    pub(super) fn tracer(&self) -> &Tracer<Box<[TraceSlot]>, Ticks> {
        &self.tracer
    }
}

/// The rings of a pool's workers; none if it keeps no trace.
#[derive(Default)]
pub(crate) struct PoolRings(Box<[Arc<WorkerRing>]>);

impl PoolRings {
    /// Makes rings that hold so many events, or as many as the environment asks for.
    ///
    /// # Errors
    /// [`BuildError::TooManyEvents`].
    pub(crate) fn new(workers: usize, requested: Option<usize>) -> Result<Self, BuildError> {
        static POOLS: AtomicU32 = AtomicU32::new(1);
        static WORKERS: AtomicU32 = AtomicU32::new(1);

        let file = environment::trace_file();
        let default = || match &file {
            Some(_) => default_events(workers),
            None => events_for_viewers(),
        };
        let requested = requested.unwrap_or_else(default);
        if requested > MAX_EVENTS {
            let maximum = MAX_EVENTS;
            return Err(BuildError::TooManyEvents { requested, maximum });
        }
        if requested == 0 {
            return Ok(Self::default());
        }
        clock::begin();
        // One slot is not readable.
        let slots = (requested + 1).next_power_of_two();
        // Ordering: Relaxed; only the numbers matter.
        let pool = POOLS.fetch_add(1, Ordering::Relaxed);
        let first = WORKERS.fetch_add(workers as u32, Ordering::Relaxed);
        let rings = (0..workers).map(|worker| {
            let slots = (0..slots).map(|_| TraceSlot::new()).collect();
            let number = first + worker as u32;
            let tracer = Tracer::new(slots);
            Arc::new(WorkerRing {
                tracer,
                pool,
                worker,
                number,
            })
        });
        let rings = Self(rings.collect());
        if let Some(file) = file {
            at_exit::keep(file, &rings);
        }
        Ok(rings)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<WorkerRing>> {
        self.0.iter()
    }
}

/// Keeps the events of one worker, if its pool keeps a trace.
pub(crate) struct WorkerTracer(Option<Arc<WorkerRing>>);

impl WorkerTracer {
    pub(crate) fn new(rings: &PoolRings, worker: usize) -> Self {
        Self(rings.0.get(worker).cloned())
    }

    /// Returns the worker's number in the process. Zero if its pool keeps no trace.
    pub(super) fn number(&self) -> u32 {
        self.0.as_ref().map_or(0, |ring| ring.number)
    }
}

impl Observer for WorkerTracer {
    #[inline]
    fn observe(&self, event: Event, clock: Clock) {
        if let Some(ring) = &self.0 {
            ring.tracer.observe(event, clock);
        }
    }
}

/// Returns how many events each worker keeps if the program asks for none.
fn events_for_viewers() -> usize {
    #[cfg(feature = "live")]
    if crate::live::is_serving() {
        return crate::live::EVENTS;
    }
    0
}

/// Returns how many events each of so many workers keeps if the environment asks for a trace.
pub(super) fn default_events(workers: usize) -> usize {
    (DEFAULT_SLOTS / workers).clamp(1 << 10, DEFAULT_EVENTS + 1) - 1
}
