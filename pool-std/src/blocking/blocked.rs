//! The ticket of a blocked section.

use std::{
    borrow::Cow,
    fmt,
    sync::{Arc, Weak},
};

use pool_core::accounting::{NotActive, State, Ticket};

use crate::{
    blocking::{error::MarkError, handlers},
    fork,
    platform::{Registry, WorkerThread, pool_of},
};

/// The ticket of one blocked section of a worker, which lets another thread end the section.
///
/// Created by [`mark_blocked`](crate::mark_blocked()) and [`blocking`](crate::blocking()). It names
/// this section and no later one. Dropping a ticket does not end the section. A ticket that
/// outlives its pool is harmless, and keeps no part of the pool alive.
///
/// # Examples
/// ```
/// use std::{sync::mpsc, thread};
///
/// let pool = pool_std::ThreadPoolBuilder::new().num_threads(1).build()?;
/// let (sender, receiver) = mpsc::channel();
/// let (tickets, blocked) = mpsc::channel();
/// thread::spawn(move || {
///     // The thread that ends the wait says so first.
///     let ticket: pool_std::Blocked = blocked.recv().unwrap();
///     ticket.mark_unblocked().unwrap();
///     assert!(ticket.mark_unblocked().is_err(), "the section has ended");
///     sender.send(42).unwrap();
/// });
/// let answer = pool.install(move || {
///     pool_std::blocking("an answer", |ticket| {
///         tickets.send(ticket.clone()).unwrap();
///         receiver.recv().unwrap()
///     })
/// });
/// assert_eq!(answer, 42);
/// # Ok::<(), pool_std::BuildError>(())
/// ```
#[derive(Clone)]
pub struct Blocked {
    /// None for a closure that runs without a mark.
    mark: Option<Mark>,
}

impl Blocked {
    pub(crate) fn none() -> Self {
        Self { mark: None }
    }

    pub(crate) fn mark(&self) -> Option<&Mark> {
        self.mark.as_ref()
    }

    pub(crate) fn into_mark(self) -> Option<Mark> {
        self.mark
    }

    /// Ends the section: the worker counts as active from now on. To be called by the thread that
    /// is about to end the worker's wait.
    ///
    /// Call it before the worker can continue. Otherwise all other workers may fall asleep in
    /// between, and the pool reports a deadlock although there is none. To unmark several workers
    /// at once, use [`mark_all_unblocked`](crate::mark_all_unblocked()).
    ///
    /// # Errors
    /// - [`MarkError::NotBlocked`]: the section has already ended, because this ticket or a clone
    ///   of it was used before, or the worker ended it.
    /// - [`MarkError::InHandler`]: a handler of a pool called this.
    pub fn mark_unblocked(&self) -> Result<(), MarkError> {
        if handlers::is_in_handler() {
            return Err(MarkError::InHandler);
        }
        let mark = self.mark.as_ref().ok_or(MarkError::NotBlocked)?;
        if Mark::end_all(std::slice::from_ref(mark)) {
            Ok(())
        } else {
            Err(MarkError::NotBlocked)
        }
    }
}

impl From<Mark> for Blocked {
    fn from(mark: Mark) -> Self {
        Self { mark: Some(mark) }
    }
}

impl fmt::Debug for Blocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ticket = self.mark.as_ref().map(|mark| mark.ticket);
        f.debug_struct("Blocked")
            .field("worker", &ticket.map(|ticket| ticket.worker().get()))
            .field("episode", &ticket.map(|ticket| ticket.episode()))
            .finish_non_exhaustive()
    }
}

/// A section of a worker that was marked as blocked.
#[derive(Clone)]
pub(crate) struct Mark {
    /// Weak, because the last owner of a registry runs what the pool has put off, and threads drop
    /// tickets under locks of their own. A worker that is in a section keeps its registry.
    registry: Weak<Registry>,
    ticket: Ticket,
}

impl Mark {
    /// Marks the worker that this thread is.
    pub(crate) fn new(worker: &WorkerThread, label: Cow<'static, str>) -> Result<Self, MarkError> {
        let sections = &worker.registry().data().sections;
        // Before the accounting is told, because that may make a report.
        sections.announce(worker.index(), label);
        let ticket = worker.mark_blocked().map_err(|error| match error {
            NotActive {
                state: State::Blocked,
                ..
            } => MarkError::AlreadyBlocked,
            // The worker has left its pool, and only the thread is still there.
            NotActive { .. } => MarkError::NotAWorker,
        })?;
        sections.begin(worker.index(), ticket.episode());
        Ok(Self::of(worker, ticket))
    }

    fn of(worker: &WorkerThread, ticket: Ticket) -> Self {
        Self {
            registry: Arc::downgrade(&pool_of(worker)),
            ticket,
        }
    }

    /// Returns what tells this pool from others.
    pub(crate) fn pool(&self) -> usize {
        self.registry.as_ptr().addr()
    }

    /// Returns the pool, if it is still there.
    pub(crate) fn registry(&self) -> Option<Arc<Registry>> {
        self.registry.upgrade()
    }

    /// Ends the section, for the worker itself, unless another thread has ended it, as it should.
    pub(crate) fn end_own(&self, registry: &Registry) {
        let _ = registry.deadlock().mark_self_unblocked(self.ticket);
    }

    /// Ends several sections of one pool, for the thread that resumes the workers. Returns false if
    /// some section had ended, as all have when the pool is gone.
    pub(crate) fn end_all(of_one_pool: &[Self]) -> bool {
        let Some(first) = of_one_pool.first() else {
            return true;
        };
        let Some(registry) = first.registry().filter(|it| fork::is_own_process(it)) else {
            return false;
        };
        let tickets = of_one_pool.iter().map(|mark| mark.ticket);
        registry.deadlock().mark_all_unblocked(tickets).is_ok()
    }
}

/// Returns the ticket of the section that this worker is in.
pub(crate) fn of_this_worker() -> Blocked {
    // SAFETY: 1. the reference is not used after this call.
    let worker = unsafe { WorkerThread::current() };
    let mark = worker.and_then(|worker| {
        let ticket = worker.registry().deadlock().ticket(worker.index())?;
        Some(Mark::of(worker, ticket))
    });
    Blocked { mark }
}
