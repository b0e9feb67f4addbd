//! The current span of the crate `tracing`.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tracing::Span as Entered;

use crate::panics::drop_quietly;

/// The span in which a job was made. None if no subscriber is there, or it is in none.
#[derive(Clone)]
pub(super) struct Span(Option<Entered>);

impl Span {
    /// Returns that of this thread. None if the subscriber panics: a scope has counted the job by
    /// now, and would wait for it in vain.
    #[inline]
    pub(super) fn current() -> Self {
        let span = catch_unwind(AssertUnwindSafe(Entered::current));
        let span = span.map_err(drop_quietly).ok();
        Self(span.filter(|span| !span.is_none()))
    }

    /// Calls a closure in the span, or in none.
    pub(super) fn run<R>(&self, closure: impl FnOnce() -> R) -> R {
        match &self.0 {
            Some(span) => span.in_scope(closure),
            None => {
                let _outside = Outside::of_all_spans();
                closure()
            }
        }
    }
}

/// A thread that has left the spans that it was in. The drop enters them again.
struct Outside(Vec<Entered>);

impl Outside {
    /// Leaves all spans. A worker that runs a job in a wait of another one is in those of that job.
    fn of_all_spans() -> Self {
        let mut left = Vec::new();
        loop {
            let span = Entered::current();
            // The same one again if the subscriber does not let it go.
            if span.is_none() || left.last() == Some(&span) {
                return Self(left);
            }
            span.with_subscriber(|(id, subscriber)| subscriber.exit(id));
            left.push(span);
        }
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        for span in self.0.drain(..).rev() {
            span.with_subscriber(|(id, subscriber)| subscriber.enter(id));
        }
    }
}
