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

    /// Calls a closure in the span, or in none, and in no other one: a worker that runs a job in a
    /// wait of another one is in the spans of that job.
    pub(super) fn run<R>(&self, closure: impl FnOnce() -> R) -> R {
        let _outside = Outside::of_all_spans();
        match &self.0 {
            Some(span) => span.in_scope(closure),
            None => closure(),
        }
    }
}

/// How often a thread leaves the same span in a row. It may have entered it several times, or the
/// subscriber does not let it go.
const MAX_EXITS: usize = 64;

/// A thread that has left the spans that it was in. The drop enters them again.
struct Outside(Vec<Entered>);

impl Outside {
    /// Leaves all spans. If the subscriber panics, the thread is in all of them again.
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
            // Before the exit, which may panic when the span has been left.
            outside.0.push(span.clone());
            span.with_subscriber(|(id, subscriber)| subscriber.exit(id));
        }
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        for span in self.0.drain(..).rev() {
            let enter = || span.with_subscriber(|(id, subscriber)| subscriber.enter(id));
            // A subscriber that panics does not keep the thread from the others. This may be a
            // panic of the subscriber already, and a second one would abort the process.
            _ = catch_unwind(AssertUnwindSafe(enter)).map_err(drop_quietly);
        }
    }
}
