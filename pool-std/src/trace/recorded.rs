//! The events that a pool's workers have kept.

use std::{io, time::Duration};

use pool_core::{Event, WokenBy};

use super::{
    chrome,
    clock::Scale,
    rings::WorkerRing,
    spans::{Span, spans},
};

/// What the workers of some pools did. Created by [`ThreadPool::trace`](crate::ThreadPool::trace).
///
/// # Examples
/// See also the [module](crate::trace).
///
/// ```
/// let pool = pool_std::ThreadPoolBuilder::new().num_threads(1).trace(100).build()?;
/// pool.install(|| ());
/// let mut json = Vec::new();
/// pool.trace().write_chrome(&mut json)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Trace {
    pools: Vec<PoolTrace>,
}

impl Trace {
    pub(super) fn of<'r>(rings: impl IntoIterator<Item = &'r std::sync::Arc<WorkerRing>>) -> Self {
        // The events come first, because comparing the clocks may take a moment.
        let rings: Vec<_> = rings
            .into_iter()
            .map(|ring| {
                let mut events = ring.tracer().events();
                let kept: Vec<_> = events.by_ref().collect();
                (ring, kept, events.overwritten())
            })
            .collect();
        let scale = Scale::now();
        let mut pools: Vec<PoolTrace> = Vec::new();
        for (ring, kept, overwritten) in rings {
            let mut last = Duration::ZERO;
            let events = kept.into_iter().map(|it| {
                // A guest may run on a processor whose counter is a little behind.
                last = last.max(scale.time(it.time));
                let event = match it.event {
                    Event::Wake(WokenBy { waker, at }) if at != 0 => Event::Wake(WokenBy {
                        waker,
                        at: scale.time(at).min(last).as_nanos() as u64,
                    }),
                    event => event,
                };
                TimedEvent { time: last, event }
            });
            let worker = WorkerTrace {
                index: ring.worker,
                number: ring.number,
                events: events.collect(),
                overwritten,
            };
            match pools.last_mut().filter(|pool| pool.number == ring.pool) {
                Some(pool) => pool.workers.push(worker),
                None => pools.push(PoolTrace {
                    number: ring.pool,
                    workers: vec![worker],
                }),
            }
        }
        Self { pools }
    }

    /// Returns the pools, in the order in which they were built.
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(1).trace(100).build()?;
    /// assert_eq!(pool.trace().pools().len(), 1);
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    #[must_use]
    pub fn pools(&self) -> &[PoolTrace] {
        &self.pools
    }

    /// Writes the trace in Chrome's format, for <https://ui.perfetto.dev> and `chrome://tracing`.
    ///
    /// Each pool appears as a process with a row for each worker. Jobs, searches and sleeps are
    /// slices; steals and wake-ups are arrows; a counter shows how many workers are active,
    /// searching, and asleep.
    ///
    /// # Errors
    /// The error of the writer.
    pub fn write_chrome<W: io::Write>(&self, writer: W) -> io::Result<()> {
        chrome::write(self, writer)
    }
}

/// What the workers of one pool did.
///
/// # Examples
/// ```
/// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).trace(100).build()?;
/// pool.install(|| ());
/// let trace = pool.trace();
/// assert_eq!(trace.pools()[0].workers().len(), 2);
/// # Ok::<(), pool_std::BuildError>(())
/// ```
#[derive(Debug, Clone)]
pub struct PoolTrace {
    number: u32,
    workers: Vec<WorkerTrace>,
}

impl PoolTrace {
    /// Returns the pool's number among the pools of the process that keep a trace, starting from 1.
    ///
    /// # Examples
    /// ```
    /// let build = || pool_std::ThreadPoolBuilder::new().num_threads(1).trace(100).build();
    /// let (first, second) = (build()?.trace(), build()?.trace());
    /// assert!(first.pools()[0].number() < second.pools()[0].number());
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    #[must_use]
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Returns what each worker did, in the order of their numbers.
    #[must_use]
    pub fn workers(&self) -> &[WorkerTrace] {
        &self.workers
    }
}

/// What one worker did.
///
/// # Examples
/// ```
/// let pool = pool_std::ThreadPoolBuilder::new().num_threads(1).trace(10).build()?;
/// (0..100).for_each(|_| pool.install(|| ()));
/// let trace = pool.trace();
/// let worker = &trace.pools()[0].workers()[0];
/// assert!(worker.events().len() >= 10 && worker.overwritten() > 0);
/// # Ok::<(), pool_std::BuildError>(())
/// ```
#[derive(Debug, Clone)]
pub struct WorkerTrace {
    index: usize,
    number: u32,
    events: Vec<TimedEvent>,
    overwritten: usize,
}

impl WorkerTrace {
    /// Returns the worker's number in its pool.
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).trace(100).build()?;
    /// let trace = pool.trace();
    /// let indices = trace.pools()[0].workers().iter().map(|worker| worker.index());
    /// assert!(indices.eq([0, 1]));
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    #[must_use]
    pub fn index(&self) -> usize {
        self.index
    }

    /// Returns the worker's number in the process, which [`WokenBy`] uses.
    ///
    /// # Examples
    /// Counts how often workers were woken by other workers, and by threads outside the pool:
    /// ```
    /// use pool_std::trace::Event;
    ///
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).trace(100).build()?;
    /// pool.install(|| ());
    /// let trace = pool.trace();
    /// let workers = trace.pools()[0].workers();
    /// let (mut by_workers, mut by_others) = (0, 0);
    /// for it in workers.iter().flat_map(|worker| worker.events()) {
    ///     if let Event::Wake(by) = it.event {
    ///         let is_worker = workers.iter().any(|worker| worker.number() == by.waker);
    ///         *(if is_worker { &mut by_workers } else { &mut by_others }) += 1;
    ///     }
    /// }
    /// println!("woken by workers: {by_workers}, by others: {by_others}");
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    #[must_use]
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Returns the last events, oldest first. Their times do not decrease.
    #[must_use]
    pub fn events(&self) -> &[TimedEvent] {
        &self.events
    }

    /// Returns how many older events were overwritten.
    #[must_use]
    pub fn overwritten(&self) -> usize {
        self.overwritten
    }

    /// Returns what the worker did, with begin and end times. A span that has not ended is given
    /// the time of this worker's last event as its end.
    ///
    /// # Complexity
    /// Linear in the number of events.
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(1).trace(100).build()?;
    /// pool.install(|| ());
    /// let trace = pool.trace();
    /// for span in trace.pools()[0].workers()[0].spans() {
    ///     println!("{:?} for {:?}", span.kind, span.end - span.begin);
    /// }
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    #[must_use]
    pub fn spans(&self) -> Vec<Span> {
        let end = self.events.last().map_or(Duration::ZERO, |it| it.time);
        spans(self, end)
    }
}

/// An event and its time.
///
/// # Examples
/// ```
/// use pool_std::trace::Event;
///
/// let pool = pool_std::ThreadPoolBuilder::new().num_threads(1).trace(100).build()?;
/// pool.install(|| ());
/// let trace = pool.trace();
/// for it in trace.pools()[0].workers()[0].events() {
///     if let Event::Job(name) = it.event {
///         println!("{:?}: {}", it.time, name.get().unwrap_or("a job"));
///     }
/// }
/// # Ok::<(), pool_std::BuildError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TimedEvent {
    /// When it happened: the time since this process built its first pool that keeps a trace. The
    /// time of a [wake-up](WokenBy::at) is in nanoseconds since then.
    pub time: Duration,
    /// What happened.
    pub event: Event,
}
