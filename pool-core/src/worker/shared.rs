//! The half of a worker that it shares with the other workers of its pool.

use core::fmt;

use deque_core::Deque;
use sleep_core::CoreLatch;

use super::seat::Seat;
use crate::{fifo::JobFifo, job::JobRef, platform::Platform};

/// The half of a worker that it shares with the other workers of its pool.
pub struct WorkerShared<P: Platform> {
    deque: Deque<JobRef, P::Storage>,
    /// Jobs that only this worker may run: broadcasts.
    inbox: P::Queue,
    /// Jobs that this worker spawned to be run in their order.
    fifo: JobFifo<P>,
    terminate: CoreLatch,
    /// Which thread uses the other half.
    seat: Seat<P>,
    observer: P::Observer,
}

impl<P: Platform> fmt::Debug for WorkerShared<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkerShared")
            .field("jobs", &self.deque.len())
            .field("seat", &self.seat)
            .finish_non_exhaustive()
    }
}

impl<P: Platform> WorkerShared<P> {
    const_unless_loom! {
        /// Creates a worker with these queues, all empty, and this observer.
        pub fn new(
            deque: Deque<JobRef, P::Storage>,
            inbox: P::Queue,
            fifo: P::Queue,
            observer: P::Observer,
        ) -> Self {
            let (terminate, seat) = (CoreLatch::new(), Seat::new());
            Self { deque, inbox, fifo: JobFifo::new(fifo), terminate, seat, observer }
        }
    }

    #[inline]
    pub(crate) fn deque(&self) -> &Deque<JobRef, P::Storage> {
        &self.deque
    }

    /// Returns the queue of jobs that only this worker may run.
    pub(crate) fn inbox(&self) -> &P::Queue {
        &self.inbox
    }

    pub(crate) fn terminate(&self) -> &CoreLatch {
        &self.terminate
    }

    /// Returns the word that says which thread uses the other half.
    pub(crate) fn seat(&self) -> &Seat<P> {
        &self.seat
    }

    /// Returns the observer of what the worker does. Any thread may look at what it has counted.
    #[inline]
    pub fn observer(&self) -> &P::Observer {
        &self.observer
    }

    /// Returns the jobs that this worker spawned to be run in their order.
    pub(super) fn fifo(&self) -> &JobFifo<P> {
        &self.fifo
    }
}
