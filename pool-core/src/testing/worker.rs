//! Threads of tests that are workers for a while.

use std::sync::Arc;

#[cfg(loom)]
use ::loom::{model::Builder, thread};

use super::TestPlatform;
use crate::{Registry, WorkerThread};

/// Creates the workers of a pool, on this thread.
#[cfg(not(loom))]
pub(crate) fn workers<P: TestPlatform, const N: usize>(
    registry: &Arc<Registry<P>>,
) -> [WorkerThread<P>; N] {
    std::array::from_fn(|index| {
        let index = registry.worker(index).unwrap();
        // SAFETY: 1. the caller holds the registry; 2. it is the `Arc`'s pointer.
        unsafe { WorkerThread::new(Arc::as_ptr(registry), index) }.unwrap()
    })
}

/// Makes this thread a worker for as long as `body` takes.
pub(crate) fn with_worker<P: TestPlatform>(
    registry: &Arc<Registry<P>>,
    index: usize,
    body: impl FnOnce(&WorkerThread<P>),
) {
    let index = registry.worker(index).unwrap();
    // SAFETY: 1. the caller holds the registry; 2. it is the `Arc`'s pointer.
    let worker = unsafe { WorkerThread::new(Arc::as_ptr(registry), index) }.unwrap();
    // SAFETY: 1. it stays until it leaves.
    unsafe { worker.enter() };
    body(&worker);
    worker.leave();
}

/// Runs a worker until its pool ends.
pub(crate) fn run_until_terminated<P: TestPlatform>(worker: &WorkerThread<P>) {
    // SAFETY: 1. the parkers and protocols of tests that have guests find no worker.
    unsafe { worker.run_until_terminated() };
}

/// Runs a worker until it is requested to stop.
pub(crate) fn run_until_stopped<P: TestPlatform>(worker: &WorkerThread<P>) {
    // SAFETY: 1. as above.
    unsafe { worker.run_until_stopped() };
}

/// Makes a thread of its own the second worker, as `with_worker` does.
#[cfg(loom)]
pub(crate) fn spawn_other<P: TestPlatform>(
    registry: &Arc<Registry<P>>,
    body: fn(&WorkerThread<P>),
) -> thread::JoinHandle<()> {
    let registry = registry.clone();
    thread::spawn(move || with_worker(&registry, 1, body))
}

/// Explores `body` with at most so many preemptions.
#[cfg(loom)]
pub(crate) fn model(preemptions: usize, body: impl Fn() + Sync + Send + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 10_000;
    builder.check(body);
}
