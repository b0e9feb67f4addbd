//! What a job may know of where it runs.

use std::marker::PhantomData;

use crate::platform::WorkerThread;

/// What [`join_context`](crate::join_context) tells its closures.
#[derive(Debug)]
pub struct FnContext {
    migrated: bool,
    /// Neither `Send` nor `Sync`: true only here and now.
    _marker: PhantomData<*mut ()>,
}

impl FnContext {
    #[inline]
    pub(crate) fn new(migrated: bool) -> Self {
        Self {
            migrated,
            _marker: PhantomData,
        }
    }

    /// True if the closure runs on another thread than the one that called `join_context`: it was
    /// stolen, or came from outside the pool. A good moment to split work further.
    #[inline]
    pub fn migrated(&self) -> bool {
        self.migrated
    }
}

/// What came of [`yield_now`] or [`yield_local`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Yield {
    /// A job was run.
    Executed,
    /// There was none.
    Idle,
}

/// Runs one job from anywhere in the pool. None if this thread is no worker.
pub fn yield_now() -> Option<Yield> {
    yield_with(WorkerThread::yield_now)
}

/// Runs one job of this worker's own. None if this thread is no worker.
pub fn yield_local() -> Option<Yield> {
    yield_with(WorkerThread::yield_local)
}

fn yield_with(run_one: impl FnOnce(&WorkerThread) -> bool) -> Option<Yield> {
    // SAFETY: 1. it is used at once.
    let worker = unsafe { WorkerThread::current() }?;
    Some(if run_one(worker) {
        Yield::Executed
    } else {
        Yield::Idle
    })
}
