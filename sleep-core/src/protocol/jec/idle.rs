//! Where one worker is on its way to sleep.

use super::counters::JobsEventCounter;
use crate::{index::WorkerIndex, policy::Search};

/// One worker's way from finding no work to being asleep.
///
/// Created by [`start_looking`](crate::SleepProtocol::start_looking), kept by the worker's search
/// loop, and advanced by [`no_work_found`](crate::SleepProtocol::no_work_found).
#[derive(Debug)]
pub struct IdleState {
    pub(super) worker: WorkerIndex,
    /// A worker gets sleepy with the value of the JEC at that moment.
    pub(super) search: Search<JobsEventCounter>,
}

impl IdleState {
    pub(super) fn new(worker: WorkerIndex, is_admitted: bool) -> Self {
        Self {
            worker,
            search: Search::new(is_admitted),
        }
    }
}
