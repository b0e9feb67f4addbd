//! Traces: what each worker did, event by event, and when.
//!
//! With the feature `trace`, each worker of a pool that enables traces keeps its last events in a
//! ring of fixed size: jobs with the names of their closures, steals, searches, sleeps, and which
//! thread has woken it. This takes no lock. The trace can be requested at any time, and is written
//! in Chrome's format, which [Perfetto](https://ui.perfetto.dev) shows as a timeline.
//!
//! There are two ways to enable it:
//!
//! - In the program: [`ThreadPoolBuilder::trace`](crate::ThreadPoolBuilder::trace), and then
//!   [`ThreadPool::trace`](crate::ThreadPool::trace).
//! - From outside, also for programs that use a drop-in: the environment variable `POOL_STD_TRACE`
//!   names a file. Each pool of the process keeps its events, and the file is written when the
//!   process exits. On systems other than Unix the program calls [`write_now`] instead.
//!
//! A join whose second closure is not stolen records no event, because that would cost more than
//! the join. Such joins appear as part of the job that calls them.
//!
//! The page "Traces and timelines" of the book shows how to read a trace.
//!
//! # Examples
//! ```
//! let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).trace(1_000).build()?;
//! pool.scope(|scope| {
//!     for _ in 0..10 {
//!         scope.spawn(|_| ());
//!     }
//! });
//! let trace = pool.trace();
//! let jobs = trace.pools()[0].workers().iter().flat_map(|worker| worker.events());
//! let begins = jobs.filter(|event| matches!(event.event, pool_std::trace::Event::Job(_)));
//! assert!(begins.count() >= 10);
//!
//! let mut json = Vec::new();
//! trace.write_chrome(&mut json)?;
//! assert!(json.starts_with(b"{"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod at_exit;
mod chrome;
mod clock;
pub(crate) mod json;
mod names;
mod recorded;
mod rings;
#[cfg(all(unix, feature = "live"))]
mod running;
mod spans;
#[cfg(test)]
mod tests;
mod waking;

pub use at_exit::write_now;
#[cfg(all(unix, feature = "live"))]
pub(crate) use names::short as short_name;
pub use pool_core::{Event, JobName, SearchEnd, WokenBy};
pub use recorded::{PoolTrace, TimedEvent, Trace, WorkerTrace};
pub(crate) use rings::{PoolRings, WorkerTracer};
#[cfg(all(unix, feature = "live"))]
pub(crate) use running::RunningJob;
pub use spans::{Span, SpanKind};
pub(crate) use waking::WakeNote;

use crate::{
    platform::WorkerThread,
    thread_pool::{ThreadPool, builder::ThreadPoolBuilder},
};

impl<S> ThreadPoolBuilder<S> {
    /// Makes each worker keep at least this many of its last events for [`ThreadPool::trace`]. An
    /// event takes 32 bytes, and most jobs are three events. The default is 0: no worker keeps any.
    ///
    /// Without this call, if the environment variable `POOL_STD_TRACE` is set, pools keep 65,535
    /// events per worker, or fewer if there are more than 64 workers.
    ///
    /// With the feature `trace`.
    ///
    /// # Errors
    /// [`build`](Self::build) returns
    /// [`BuildError::TooManyEvents`](crate::BuildError::TooManyEvents) if a worker is to keep
    /// more than 16,777,215 events.
    ///
    /// # Examples
    /// See the [module](crate::trace).
    #[must_use]
    pub fn trace(mut self, events_per_worker: usize) -> Self {
        self.settings.trace = Some(events_per_worker);
        self
    }
}

/// Runs a closure as a part of a job that has a name, see [`labeled`](crate::labeled).
pub(crate) fn labeled<R>(label: &'static &'static str, closure: impl FnOnce() -> R) -> R {
    WorkerThread::labeled(label, closure)
}

impl ThreadPool {
    /// Returns the events that the pool's workers have kept. Any thread may call this at any time;
    /// it does not stop any worker.
    ///
    /// Without [`ThreadPoolBuilder::trace`] and `POOL_STD_TRACE`, the trace contains no pool.
    ///
    /// With the feature `trace`.
    ///
    /// # Examples
    /// See the [module](crate::trace).
    #[must_use]
    pub fn trace(&self) -> Trace {
        Trace::of(self.registry().data().rings.iter())
    }
}
