//! The current span of the crate `tracing`.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tracing::Span as Entered;

use crate::panics::drop_quietly;

/// The span in which a job was created. None if there is no subscriber or no current span.
#[derive(Clone)]
pub(super) struct Span(Option<Entered>);

impl Span {
    /// Returns the current span of this thread. None if the subscriber panics: the panic must not
    /// spread, because a scope has already counted the job and would wait for it forever.
    #[inline]
    pub(super) fn current() -> Self {
        let span = catch_unwind(AssertUnwindSafe(Entered::current));
        let span = span.map_err(drop_quietly).ok();
        Self(span.filter(|span| !span.is_none()))
    }

    /// Calls a closure in this span, or in none, but in no other span: a worker that runs a job
    /// while another job waits is still in the spans of that other job.
    pub(super) fn run<R>(&self, closure: impl FnOnce() -> R) -> R {
        let _outside = Outside::of_all_spans();
        match &self.0 {
            Some(span) => span.in_scope(closure),
            None => closure(),
        }
    }
}

/// How many times in a row a thread leaves the same span. More exits mean that it has entered the
/// span many times, or that the subscriber does not let it leave.
const MAX_EXITS: usize = 64;

/// A thread that has left the spans that it was in. Dropping the value enters them again.
struct Outside(Vec<Entered>);

impl Outside {
    /// Leaves all spans. If the subscriber panics, the thread enters all of them again.
    fn of_all_spans() -> Self {
        let mut outside = Self(Vec::new());
        let mut exits = 0;
        loop {
            let span = Entered::current();
            if span.is_none() {
                return outside;
            }
            let is_same = outside.0.last() == Some(&span);
            exits = if is_same { exits + 1 } else { 1 };
            if exits > MAX_EXITS {
                return outside;
            }
            // This comes before the exit, which may panic after it has left the span.
            outside.0.push(span.clone());
            span.with_subscriber(|(id, subscriber)| subscriber.exit(id));
        }
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        for span in self.0.drain(..).rev() {
            let enter = || span.with_subscriber(|(id, subscriber)| subscriber.enter(id));
            // If the subscriber panics, the thread still enters the other spans. The thread may
            // already be unwinding from a panic of the subscriber, and a second panic would abort
            // the process.
            _ = catch_unwind(AssertUnwindSafe(enter)).map_err(drop_quietly);
        }
    }
}
