//! The queues of jobs that come from outside the workers, and the priorities that decide when a
//! worker looks at each of them.

use crate::queue::JobQueue;

/// When a job from outside is run, relative to other queued jobs.
///
/// Workers never interrupt a job, so a priority only decides which job a worker begins next.
///
/// # Examples
/// ```
/// use pool_core::{Injectors, Priority};
///
/// let queues = Injectors::new("urgent", "normal", "background");
/// assert_eq!(*queues.of(Priority::default()), "normal");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Priority {
    /// Before the jobs of the worker's own deque, and before all others.
    Urgent,
    /// When a worker has no job of its own and steals none, as for jobs from outside in most pools.
    #[default]
    Normal,
    /// When a worker has found no other job.
    Background,
}

/// The queues of jobs from outside, one for each [`Priority`].
///
/// Within a queue, the first job is taken first.
///
/// # Examples
/// See [`Platform`](crate::Platform).
#[derive(Debug)]
pub struct Injectors<Q> {
    urgent: Q,
    normal: Q,
    background: Q,
}

impl<Q> Injectors<Q> {
    /// Creates the queues of a pool from three empty ones.
    pub const fn new(urgent: Q, normal: Q, background: Q) -> Self {
        Self {
            urgent,
            normal,
            background,
        }
    }

    /// Returns the queue of the jobs with this priority.
    #[inline]
    pub fn of(&self, priority: Priority) -> &Q {
        match priority {
            Priority::Urgent => &self.urgent,
            Priority::Normal => &self.normal,
            Priority::Background => &self.background,
        }
    }

    /// Returns the queue of the jobs that have the normal priority.
    #[inline]
    pub(crate) fn normal(&self) -> &Q {
        &self.normal
    }

    #[inline]
    pub(crate) fn urgent(&self) -> &Q {
        &self.urgent
    }

    pub(crate) fn background(&self) -> &Q {
        &self.background
    }
}

impl<Q: JobQueue> Injectors<Q> {
    /// Whether each of the queues had no job at some moment during the call.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.normal.is_empty() && self.urgent.is_empty() && self.background.is_empty()
    }

    /// Returns the approximate number of jobs, or `None` if a queue does not know it.
    pub fn len(&self) -> Option<usize> {
        Some(self.urgent.len()? + self.normal.len()? + self.background.len()?)
    }
}
