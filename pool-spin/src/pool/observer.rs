//! The receivers of each worker's events: its counters, and its trace.

use core::{fmt, marker::PhantomData};

use crate::machine::Machine;

#[cfg(feature = "metrics")]
type Counters = pool_core::WorkerCounters;
#[cfg(not(feature = "metrics"))]
type Counters = pool_core::NoMetrics;

/// The receivers of each worker's events. They count an event, and keep it.
pub(crate) type WorkerObserver<M> = (Counters, WorkerTracer<M>);

/// Creates the observer of one worker.
pub(super) const fn new_observer<M: Machine>() -> WorkerObserver<M> {
    (Counters::new(), WorkerTracer::new())
}

/// Keeps the last events of one worker, with the feature `trace`.
pub struct WorkerTracer<M> {
    #[cfg(feature = "trace")]
    tracer: kept::Kept<M>,
    machine: PhantomData<fn() -> M>,
}

impl<M> fmt::Debug for WorkerTracer<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkerTracer").finish_non_exhaustive()
    }
}

impl<M: Machine> WorkerTracer<M> {
    const fn new() -> Self {
        Self {
            #[cfg(feature = "trace")]
            tracer: kept::Kept::new([const { pool_core::trace::TraceSlot::new() }; kept::SLOTS]),
            machine: PhantomData,
        }
    }
}

impl<M: Machine> pool_core::Observer for WorkerTracer<M> {
    #[inline(always)]
    fn observe(&self, event: pool_core::Event, clock: pool_core::Clock) {
        #[cfg(feature = "trace")]
        self.tracer.observe(event, clock);
        #[cfg(not(feature = "trace"))]
        let _ = (event, clock);
    }
}

#[cfg(feature = "trace")]
pub(super) mod kept {
    use pool_core::{
        UnknownWorker,
        trace::{TraceClock, TraceEvents, TraceSlot, Tracer},
    };

    use super::{super::platform::run, WorkerTracer};
    use crate::{
        machine::Machine,
        pool::{SpinPool, system::System},
    };

    /// The number of slots of each worker. All but one are readable.
    pub(crate) const SLOTS: usize = 256;

    pub(super) type Kept<M> = Tracer<[TraceSlot; SLOTS], MachineClock<M>>;

    /// The clock of a machine. Zero if it has none.
    #[derive(Debug)]
    pub(crate) struct MachineClock<M>(core::marker::PhantomData<fn() -> M>);

    impl<M: Machine> TraceClock for MachineClock<M> {
        fn now() -> u64 {
            run(M::nanoseconds).unwrap_or(0)
        }
    }

    impl<M> WorkerTracer<M> {
        fn events(&self) -> TraceEvents<'_, [TraceSlot; SLOTS]> {
            self.tracer.events()
        }
    }

    impl<S: System> SpinPool<S> {
        /// Returns the last events of a worker, oldest first: at most 255. Times are in
        /// [nanoseconds](Machine::nanoseconds). With the parker [`Traced`](crate::Traced), they
        /// tell which worker has woken this one.
        ///
        /// Any core may call this, and so may an interrupt handler, while the worker continues. A
        /// debug probe or a console can read the events.
        ///
        /// # Errors
        /// [`UnknownWorker`] if there are not that many workers.
        ///
        /// # Examples
        /// ```
        /// use pool_spin::{Cores, Event, SpinPool, host::Host};
        ///
        /// static POOL: SpinPool<Cores<Host, 1, 64>> = SpinPool::new();
        ///
        /// POOL.run_with(0, |worker| worker.scope(|scope| scope.spawn(|_, _| ())))?;
        /// for event in POOL.trace(0)? {
        ///     println!("{} {:?}", event.time, event.event);
        /// }
        /// let jobs = POOL.trace(0)?.filter(|event| matches!(event.event, Event::Job(_)));
        /// assert_eq!(jobs.count(), 1);
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        pub fn trace(
            &self,
            index: usize,
        ) -> Result<TraceEvents<'_, [TraceSlot; SLOTS]>, UnknownWorker> {
            let worker = self.registry().worker(index)?;
            let observer = self.registry().workers()[worker.get()].observer();
            Ok(S::tracer(observer).events())
        }
    }
}
