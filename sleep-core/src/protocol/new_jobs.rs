//! What a poster says of the jobs that it has queued.

use core::fmt;

use crate::protocol::hint::Hint;

/// Jobs that were queued and that any worker may run, for
/// [`announce`](crate::SleepProtocol::announce).
///
/// `E` is a function that tells whether their queue was empty before. A protocol need not call it.
///
/// # Examples
/// ```
/// use sleep_core::{Hint, NewJobs, Origin};
///
/// let jobs = NewJobs::injected(2, true).at(Hint::Injector);
/// assert_eq!((jobs.origin, jobs.count, jobs.hint), (Origin::Injected, 2, Hint::Injector));
/// assert!((jobs.queue_was_empty)());
/// ```
#[derive(Clone, Copy)]
pub struct NewJobs<E> {
    /// Whether the poster stays until the jobs have been run.
    pub origin: Origin,
    /// The number of jobs. With 0, no worker is woken. So a caller that queued a job and announces
    /// none loses the wake-up.
    pub count: usize,
    /// Where the jobs are. A protocol that carries hints passes it to a worker that it wakes.
    pub hint: Hint,
    /// Whether the queue was empty before. If not, the idle workers are not keeping up, and a
    /// protocol may wake sleepers for all the new jobs. A poster that does not know returns false,
    /// which wakes at most a few workers too many.
    pub queue_was_empty: E,
}

/// Whether the poster of jobs stays until they have been run.
///
/// # Examples
/// ```
/// use sleep_core::{NewJobs, Origin};
///
/// // From an interrupt handler, or another thread.
/// assert_eq!(NewJobs::injected(1, true).origin, Origin::Injected);
/// // From a worker that stays until the job has been run.
/// assert_eq!(NewJobs::internal(1, || true).origin, Origin::Internal);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The jobs were queued from outside, or by a worker that may go away. No sleeping worker
    /// overlooks them.
    Injected,
    /// A worker of the pool queued the jobs on its own queue, and stays until they have been run,
    /// as in a join. Or it has executed a sequentially consistent fence after it queued them.
    ///
    /// A protocol may omit its own fence. Then a worker that is falling asleep may overlook the
    /// jobs until the next wake-up.
    ///
    /// A caller whose system has a fence for all threads of a process (`membarrier` on Linux) can
    /// rule that out without a fence in the poster. `has_work` executes the process fence first,
    /// and then looks. It does so each time, or at least whenever a poster may count all workers as
    /// awake. The poster needs a compiler fence between its write of the queue and the call. If
    /// the process fence takes effect after the write, `has_work` sees the job. If it takes effect
    /// before, the call sees the worker, which has registered by then.
    Internal,
}

impl NewJobs<()> {
    /// Describes jobs that were queued from [anywhere](Origin::Injected). `queue_was_empty` is the
    /// value of [the field](NewJobs::queue_was_empty).
    #[doc(alias = "new_injected_jobs")]
    #[inline]
    pub fn injected(count: usize, queue_was_empty: bool) -> NewJobs<impl Fn() -> bool + Copy> {
        NewJobs {
            origin: Origin::Injected,
            count,
            hint: Hint::Unknown,
            queue_was_empty: move || queue_was_empty,
        }
    }

    /// Describes jobs that a worker queued on [its own queue](Origin::Internal).
    #[doc(alias = "new_internal_jobs")]
    #[inline]
    pub const fn internal<E: FnOnce() -> bool>(count: usize, queue_was_empty: E) -> NewJobs<E> {
        NewJobs {
            origin: Origin::Internal,
            count,
            hint: Hint::Unknown,
            queue_was_empty,
        }
    }
}

impl<E> NewJobs<E> {
    /// Says where the jobs are.
    #[must_use]
    #[inline]
    pub fn at(self, hint: Hint) -> Self {
        Self { hint, ..self }
    }
}

impl<E> fmt::Debug for NewJobs<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewJobs")
            .field("origin", &self.origin)
            .field("count", &self.count)
            .field("hint", &self.hint)
            .finish_non_exhaustive()
    }
}
