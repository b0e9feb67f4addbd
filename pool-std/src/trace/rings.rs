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

/// The maximum number of events that a worker keeps if the environment requests a trace.
const DEFAULT_EVENTS: usize = (1 << 16) - 1;
/// The total number of slots of such a pool's workers: 128 MiB, or up to twice that, because the
/// number per worker is rounded up. Each worker has at least a thousand.
const DEFAULT_SLOTS: usize = 1 << 22;
/// The maximum number of events that a worker can keep: 512 MiB.
pub(super) const MAX_EVENTS: usize = (1 << 24) - 1;

/// The ring of one worker. Aligned so that no two workers write to one cache line.
#[repr(align(128))]
pub(crate) struct WorkerRing {
    tracer: Tracer<Box<[TraceSlot]>, Ticks>,
    /// The number of the pool in the process, from 1.
    pub(super) pool: u32,
    /// The number of the worker in the pool.
    pub(super) worker: usize,
    /// The number of the worker in the process, from 1.
    pub(super) number: u32,
}

impl WorkerRing {
    pub(super) fn tracer(&self) -> &Tracer<Box<[TraceSlot]>, Ticks> {
        &self.tracer
    }
}

/// The rings of a pool's workers. Empty if the pool keeps no trace.
#[derive(Default)]
pub(crate) struct PoolRings(Box<[Arc<WorkerRing>]>);

impl PoolRings {
    /// Creates rings for the requested number of events, or for the default of the environment.
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
        // One slot is never readable.
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
    // Where a worker reports an event, the event is a constant, and so is most of its record.
    #[inline(always)]
    fn observe(&self, event: Event, clock: Clock) {
        if let Some(ring) = &self.0 {
            ring.tracer.observe(event, clock);
        }
    }
}

/// Returns how many events each worker keeps if the program requests none.
fn events_for_viewers() -> usize {
    #[cfg(feature = "live")]
    if crate::live::is_serving() {
        return crate::live::EVENTS;
    }
    0
}

/// Returns how many events each worker keeps if the environment requests a trace.
pub(super) fn default_events(workers: usize) -> usize {
    (DEFAULT_SLOTS / workers).clamp(1 << 10, DEFAULT_EVENTS + 1) - 1
}
