//! Where one worker is on its way to sleep.

use crate::{
    index::WorkerIndex,
    policy::{Purpose, Search},
};

/// One worker's way from finding no work to being asleep.
///
/// Created by [`start_looking`](crate::SleepProtocol::start_looking), kept by the worker's search
/// loop, and advanced by [`no_work_found`](crate::SleepProtocol::no_work_found).
///
/// # Examples
/// See the crate's front page, which has a worker's whole loop.
#[must_use = "the worker counts as idle until this is given to `work_found`"]
#[derive(Debug)]
pub struct IdleState {
    pub(super) worker: WorkerIndex,
    pub(super) search: Search<()>,
    /// The worker may be registered as a sleeper since an earlier attempt.
    pub(super) may_be_registered: bool,
}

impl IdleState {
    pub(super) fn new(worker: WorkerIndex, purpose: Purpose) -> Self {
        Self {
            worker,
            search: Search::new(purpose, true),
            may_be_registered: false,
        }
    }
}
