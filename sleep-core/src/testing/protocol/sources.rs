//! In which queues a worker of a scenario looks.

use std::vec::Vec;

use super::{Pool, SHARED, fail};
use crate::{AwakeSet, WorkerIndex};

/// Returns the queues in which the worker with this number looks.
pub(super) type Sources<S> = fn(&Pool<S>, Option<WorkerIndex>, usize) -> Vec<usize>;

/// Returns the shared queue, and the worker's own one.
pub(super) fn own_sources<S>(_: &Pool<S>, _: Option<WorkerIndex>, worker: usize) -> Vec<usize> {
    std::vec![SHARED, 1 + worker]
}

/// Returns the shared queue, and those of the workers that the protocol does not leave out.
pub(super) fn awake_sources<S: AwakeSet>(
    pool: &Pool<S>,
    caller: Option<WorkerIndex>,
    worker: usize,
) -> Vec<usize> {
    let mut queues = own_sources(pool, caller, worker);
    let mut others = Vec::new();
    let is_held = pool.sleep.any_awake(caller, 0, |other| {
        others.push(other);
        false
    });
    let is_repeated = (1..others.len()).any(|end| others[..end].contains(&others[end]));
    if is_held {
        fail("`any_awake` returns true, but no worker holds a job");
    } else if is_repeated {
        fail("`any_awake` offers a worker twice");
    } else if caller.is_some_and(|caller| others.contains(&caller)) {
        fail("`any_awake` offers the calling worker");
    }
    queues.extend(others.iter().map(|other| 1 + other.get()));
    queues
}
