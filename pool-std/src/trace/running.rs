//! Which jobs a pool's workers run at one moment.

use std::time::Duration;

use pool_core::{JobName, trace::TraceClock as _};

use super::{
    clock::{Scale, Ticks},
    recorded::{Trace, WorkerTrace},
    rings::PoolRings,
    spans::{SpanKind, open_spans},
};

/// A job that has not ended, or the closure of a guest.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunningJob {
    /// The name, or `None` for the closure of a thread outside the pool that acts as the worker.
    pub(crate) name: Option<JobName>,
    /// The innermost part of the job that has a [name](crate::labeled).
    pub(crate) part: Option<&'static str>,
    pub(crate) running_for: Duration,
    /// The number of other jobs that wait below this one on the worker's stack.
    pub(crate) depth: usize,
}

impl RunningJob {
    /// Returns the innermost job of a worker that has not ended.
    fn of(worker: &WorkerTrace, now: Duration) -> Option<Self> {
        let (mut innermost, mut jobs): (Option<Self>, usize) = (None, 0);
        for span in open_spans(worker) {
            let begun = |name, depth| Self {
                name,
                part: None,
                running_for: now.saturating_sub(span.begin),
                depth,
            };
            match (span.kind, &mut innermost) {
                (SpanKind::Job(name), _) => {
                    innermost = Some(begun(Some(name), jobs));
                    jobs += 1;
                }
                (SpanKind::Guest, _) => innermost = Some(begun(None, jobs)),
                (SpanKind::Label(label), Some(job)) => job.part = Some(label),
                _ => {}
            }
        }
        innermost
    }
}

impl PoolRings {
    /// Returns the innermost job of each worker. Without rings, the list is empty.
    pub(crate) fn running_jobs(&self) -> Vec<Option<RunningJob>> {
        let trace = Trace::of(self.iter());
        let Some(pool) = trace.pools().first() else {
            return Vec::new();
        };
        let now = Scale::now().time(Ticks::now());
        let workers = pool.workers().iter();
        workers.map(|it| RunningJob::of(it, now)).collect()
    }
}
