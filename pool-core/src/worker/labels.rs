//! Parts of jobs to which the program gives a name, for traces.

use core::{marker::PhantomData, ptr};

use super::WorkerThread;
use crate::{
    metrics::{Event, Observer as _},
    platform::Platform,
};

impl<P: Platform> WorkerThread<P> {
    /// Runs a closure as a part of a job that has a name. If this thread is a worker, the worker's
    /// observer receives where it begins and where it ends, by a panic too.
    ///
    /// The label is a reference to a string, so that a trace keeps it in one word.
    pub fn labeled<R>(label: &'static &'static str, closure: impl FnOnce() -> R) -> R {
        let _labeled = Labeled::<P>::begin(label);
        closure()
    }
}

/// A part of a job that has a name. Ends when it is dropped.
struct Labeled<P: Platform> {
    /// The worker that this thread was, or null. It may be gone by the end, so it is only
    /// compared.
    worker: *const WorkerThread<P>,
    platform: PhantomData<fn() -> P>,
}

impl<P: Platform> Labeled<P> {
    fn begin(label: &'static &'static str) -> Self {
        // SAFETY: 1. the reference is used at once.
        let worker = unsafe { WorkerThread::<P>::current() };
        if let Some(worker) = worker {
            worker.observer().observe(Event::Label(label), P::now);
        }
        Self {
            worker: worker.map_or(ptr::null(), ptr::from_ref),
            platform: PhantomData,
        }
    }
}

impl<P: Platform> Drop for Labeled<P> {
    fn drop(&mut self) {
        // SAFETY: 1. the reference is used at once.
        let worker = unsafe { WorkerThread::<P>::current() };
        // The closure may have ended that this thread is the worker.
        if let Some(worker) = worker.filter(|&it| ptr::eq(it, self.worker)) {
            worker.observer().observe(Event::LabelEnd, P::now);
        }
    }
}
