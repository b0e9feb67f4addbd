//! Turns events into spans of time: jobs, searches, sleeps.

use std::time::Duration;

use pool_core::{Event, JobName};

use super::recorded::WorkerTrace;

/// What a worker did from one moment to another. Spans of one worker are nested or disjoint.
///
/// # Examples
/// ```
/// use pool_std::trace::SpanKind;
///
/// let pool = pool_std::ThreadPoolBuilder::new().num_threads(1).trace(100).build()?;
/// pool.spawn(|| ());
/// pool.wait_idle()?;
/// let trace = pool.trace();
/// let spans = trace.pools()[0].workers()[0].spans();
/// assert!(spans.iter().any(|span| matches!(span.kind, SpanKind::Job(_))));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Span {
    /// What the worker did.
    pub kind: SpanKind,
    /// When the span began.
    pub begin: Duration,
    /// When the span ended, or when the trace ended.
    pub end: Duration,
    /// The number of other spans that enclose this one.
    pub depth: usize,
}

/// What a worker does for a while.
///
/// # Examples
/// ```
/// use pool_std::trace::SpanKind;
///
/// let pool = pool_std::ThreadPoolBuilder::new().num_threads(1).trace(100).build()?;
/// pool.wait_idle()?;
/// let spans = pool.trace().pools()[0].workers()[0].spans();
/// let asleep = spans.iter().filter(|span| span.kind == SpanKind::Asleep);
/// println!("asleep: {:?}", asleep.map(|span| span.end - span.begin).sum::<std::time::Duration>());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SpanKind {
    /// The worker runs a job.
    Job(JobName),
    /// The worker searches for a job.
    Searching,
    /// The worker sleeps.
    Asleep,
    /// The program has marked the worker as blocked.
    Blocked,
    /// A thread outside the pool runs a closure as this worker.
    Guest,
    /// The worker runs a part of a job to which the program has given this name. See
    /// [`labeled`](crate::labeled).
    Label(&'static str),
}

impl SpanKind {
    /// Whether the worker has no work in this span, so that the span ends with the next event.
    fn is_without_work(self) -> bool {
        matches!(self, Self::Searching | Self::Asleep | Self::Blocked)
    }
}

/// Returns the spans of a worker, in the order in which they begin. Spans that are still open end
/// at `end`.
pub(super) fn spans(worker: &WorkerTrace, end: Duration) -> Vec<Span> {
    let mut building = Building::of(worker);
    while !building.open.is_empty() {
        building.close(end);
    }
    building.spans
}

/// Returns the spans of a worker that have not ended, the outermost one first.
#[cfg(all(unix, feature = "live"))]
pub(super) fn open_spans(worker: &WorkerTrace) -> Vec<Span> {
    let building = Building::of(worker);
    let open = building.open.iter();
    open.map(|&span| building.spans[span]).collect()
}

#[derive(Default)]
struct Building {
    spans: Vec<Span>,
    /// The indices of the spans that have not ended.
    open: Vec<usize>,
}

impl Building {
    fn of(worker: &WorkerTrace) -> Self {
        let mut building = Self::default();
        for event in worker.events() {
            building.add(event.time, event.event);
        }
        building
    }

    fn add(&mut self, now: Duration, event: Event) {
        match event {
            Event::Idle => self.replace(now, SpanKind::Searching),
            Event::Sleep => self.replace(now, SpanKind::Asleep),
            // The worker is about to search for a job.
            Event::Wake(_) => self.replace(now, SpanKind::Searching),
            Event::Blocked => self.replace(now, SpanKind::Blocked),
            Event::Enter | Event::Active(_) | Event::Unblocked => self.close_without_work(now),
            Event::GuestArrived => {
                self.close_without_work(now);
                self.begin(now, SpanKind::Guest);
            }
            Event::Job(name) => {
                self.close_without_work(now);
                self.begin(now, SpanKind::Job(name));
            }
            Event::Label(label) => {
                self.close_without_work(now);
                self.begin(now, SpanKind::Label(label));
            }
            Event::LabelEnd => self.close_to(now, |kind| matches!(kind, SpanKind::Label(_))),
            Event::JobEnd => self.close_to(now, |kind| matches!(kind, SpanKind::Job(_))),
            Event::GuestLeft => {
                self.close_to(now, |kind| matches!(kind, SpanKind::Guest));
                // The worker's own thread continues to sleep.
                self.begin(now, SpanKind::Asleep);
            }
            Event::Leave => self.close_to(now, |_| false),
            _ => {}
        }
    }

    fn innermost(&self) -> Option<SpanKind> {
        self.open.last().map(|&span| self.spans[span].kind)
    }

    fn begin(&mut self, now: Duration, kind: SpanKind) {
        let depth = self.open.len();
        self.open.push(self.spans.len());
        self.spans.push(Span {
            kind,
            begin: now,
            end: now,
            depth,
        });
    }

    /// Ends the innermost span.
    fn close(&mut self, now: Duration) {
        if let Some(span) = self.open.pop() {
            self.spans[span].end = now;
        }
    }

    fn close_without_work(&mut self, now: Duration) {
        if self.innermost().is_some_and(SpanKind::is_without_work) {
            self.close(now);
        }
    }

    /// Begins a span instead of an innermost one in which the worker had no work. Continues that
    /// span if it has the same kind.
    fn replace(&mut self, now: Duration, kind: SpanKind) {
        let is_same = |it| std::mem::discriminant(&it) == std::mem::discriminant(&kind);
        if !self.innermost().is_some_and(is_same) {
            self.close_without_work(now);
            self.begin(now, kind);
        }
    }

    /// Ends all spans up to the innermost one of a kind. If there is none, its begin event was
    /// overwritten, and all open spans end.
    fn close_to(&mut self, now: Duration, is_it: impl Fn(SpanKind) -> bool) {
        while let Some(kind) = self.innermost() {
            self.close(now);
            if is_it(kind) {
                return;
            }
        }
    }
}
