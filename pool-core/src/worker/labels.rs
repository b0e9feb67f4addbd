//! Parts of jobs that the program names, for traces.

use core::{marker::PhantomData, ptr};

use super::WorkerThread;
use crate::{
    metrics::{Event, Observer as _},
    platform::Platform,
};

impl<P: Platform> WorkerThread<P> {
    /// Runs a closure as a named part of a job. If this thread is a worker, the worker's observer
    /// receives an event when the closure begins, and one when it ends, even by a panic.
    ///
    /// The label is a reference to a string, so that a trace keeps it in one word.
    pub fn labeled<R>(label: &'static &'static str, closure: impl FnOnce() -> R) -> R {
        let _labeled = Labeled::<P>::begin(label);
        closure()
    }
}

/// A named part of a job. It ends when this is dropped.
struct Labeled<P: Platform> {
    /// The worker that this thread was, or null. It may be gone by the end, so the pointer is only
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
        // The thread may have ceased to be the worker within the closure.
        if let Some(worker) = worker.filter(|&it| ptr::eq(it, self.worker)) {
            worker.observer().observe(Event::LabelEnd, P::now);
        }
    }
}
