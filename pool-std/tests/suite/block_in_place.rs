//! Workers that lend their place while they block.

mod closures;
mod spares;
mod with_the_rest;

use std::{
    sync::mpsc,
    thread::{self, ThreadId},
};

use pool_std::{
    IdlePolicy, ThreadPool, ThreadPoolBuilder, block_in_place, current_thread_index, spawn,
};

pub(crate) fn pool(threads: usize, spares: usize) -> ThreadPool {
    ThreadPoolBuilder::new()
        .num_threads(threads)
        .max_blocking_threads(spares)
        .idle_policy(IdlePolicy::IMMEDIATE)
        .build()
        .unwrap()
}

pub(crate) fn here() -> ThreadId {
    thread::current().id()
}

/// Whether a closure of `block_in_place` runs outside the pool, on its thread.
pub(crate) fn lends() -> bool {
    let outside = here();
    block_in_place(|| {
        assert_eq!(here(), outside);
        current_thread_index().is_none()
    })
}

/// Lends the place of a pool's only worker to a spare, which must be free, until the spare has run
/// a job.
pub(crate) fn lend_until_a_job_has_run() {
    let (sender, receiver) = mpsc::channel();
    spawn(move || sender.send(()).unwrap());
    block_in_place(move || receiver.recv()).unwrap();
}
