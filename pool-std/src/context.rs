//! What follows a job to the thread that runs it: values of the program, and its `tracing` span.
//!
//! A job runs on an arbitrary worker, whose thread-local variables say nothing about the code that
//! created the job. A value that is set by [`with`] does: each join, scope, spawn, broadcast and
//! call into a pool passes it on, and the worker sets it while it runs the closure. The value is
//! not set between such closures, nor in jobs that were created without it, so no value leaks from
//! one job into another.
//!
//! Requires the feature `context`. With the feature `tracing`, the current span of the crate
//! `tracing` follows in the same way: a job is in the span in which it was created.
//!
//! | created by | the job runs with the context of |
//! | --- | --- |
//! | `join`, `join_context`, `join_n`, `try_join`, `Worker::join` | the caller |
//! | `install`, `call`, `scope` and others that run their closure in another pool | the caller |
//! | `spawn` of a scope, and its relatives | the thread that spawns, not the thread of the scope |
//! | `spawn`, `spawn_fifo`, `spawn_many`, `spawn_handle` and the like | the thread that spawns |
//! | `spawn_future` | the thread that spawns, in each poll |
//! | `broadcast`, `spawn_broadcast` | the caller, on each worker |
//!
//! # Price
//! Two changes of a reference count for each job while a value is set; otherwise, one check of a
//! thread-local variable. With `tracing`, also the cost of two clones of the current span, and an
//! exit and an entry for each span that the worker is in. Without these features, nothing.

#[cfg(feature = "tracing")]
mod span;
mod values;

pub use values::{get, with};

use pool_core::{Call, JobContext};

use crate::platform::{Registry, Std, WorkerThread};

/// What a thread passes on to a job that it creates.
#[derive(Clone)]
pub(crate) struct Context {
    values: values::Values,
    #[cfg(feature = "tracing")]
    span: span::Span,
}

impl Context {
    /// Returns the context of this thread.
    #[inline(always)]
    pub(crate) fn current() -> Self {
        Self {
            values: values::Values::current(),
            #[cfg(feature = "tracing")]
            span: span::Span::current(),
        }
    }

    /// Calls a closure in this context, and in no other one.
    #[inline(always)]
    pub(crate) fn run<R>(self, closure: impl FnOnce() -> R) -> R {
        #[cfg(feature = "tracing")]
        let closure = || self.span.run(closure);
        self.values.run(closure)
    }
}

/// Makes the second half of a join run in the context of this thread if another thread takes it.
#[inline(always)]
pub(crate) fn follow_half<R>(
    half: impl FnOnce(JobContext<'_, Std>) -> R + Send,
) -> impl FnOnce(JobContext<'_, Std>) -> R + Send {
    let context = Context::current();
    move |by: JobContext<'_, Std>| {
        if by.migrated() {
            context.run(|| half(by))
        } else {
            half(by)
        }
    }
}

/// Runs a call in a pool. Uses the context of this thread if a worker on another thread runs the
/// call.
pub(crate) fn run_call(registry: &Registry, call: Call<'_, Std>) {
    let context = Context::current();
    let run = |call: Call<'_, Std>, worker: &WorkerThread, migrated| {
        if migrated {
            context.run(|| call.run(worker, migrated));
        } else {
            call.run(worker, migrated);
        }
    };
    call.within(run, |call| registry.run_call(call));
}
