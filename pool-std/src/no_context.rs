//! What stands for `context.rs` without the feature `context`. All of it is compiled away.

use pool_core::{Call, JobContext};

use crate::platform::{Registry, Std};

/// Nothing follows a job.
#[derive(Clone)]
pub(crate) struct Context;

impl Context {
    #[inline(always)]
    pub(crate) fn current() -> Self {
        Self
    }

    #[inline(always)]
    pub(crate) fn run<R>(self, closure: impl FnOnce() -> R) -> R {
        closure()
    }
}

/// Returns the second half of a join as it is. An empty context would not do: a closure that is
/// called in two places is inlined in neither.
#[inline(always)]
pub(crate) fn follow_half<R>(
    half: impl FnOnce(JobContext<'_, Std>) -> R + Send,
) -> impl FnOnce(JobContext<'_, Std>) -> R + Send {
    half
}

/// Runs a call in a pool.
pub(crate) fn run_call(registry: &Registry, call: Call<'_, Std>) {
    registry.run_call(call);
}
