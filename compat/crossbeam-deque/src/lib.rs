//! The names of crossbeam-deque on deque-core, as far as that crate's own tests need them.
//!
//! Elements are boxed, because deque-core's elements are words and these tests bring types of their
//! own. deque-core's batch steals return how many elements they have stolen; crossbeam's do not.

use std::fmt;

use deque_core::{ArcStealer, ArcWorker};

/// The result of an attempt to steal, as `crossbeam_deque::Steal`: its debug output does not show
/// what was stolen, which need not implement it.
///
/// # Examples
/// ```
/// use crossbeam_deque::Steal;
///
/// assert_eq!(format!("{:?}", Steal::Success(7)), "Success(..)");
/// let attempts = [Steal::Empty, Steal::Retry, Steal::Success(7)];
/// assert_eq!(attempts.into_iter().collect::<Steal<_>>().success(), Some(7));
/// ```
#[must_use]
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Steal<T> {
    /// There was nothing to steal.
    Empty,
    /// What was stolen.
    Success(T),
    /// The attempt should be repeated.
    Retry,
}

#[allow(missing_docs)]
impl<T> Steal<T> {
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        matches!(self, Self::Empty)
    }

    #[must_use]
    pub const fn is_success(&self) -> bool {
        matches!(self, Self::Success(_))
    }

    #[must_use]
    pub const fn is_retry(&self) -> bool {
        matches!(self, Self::Retry)
    }

    #[must_use]
    pub fn success(self) -> Option<T> {
        deque_core::Steal::from(self).success()
    }

    pub fn or_else(self, next: impl FnOnce() -> Self) -> Self {
        let next = || next().into();
        deque_core::Steal::from(self).or_else(next).into()
    }
}

impl<T> FromIterator<Self> for Steal<T> {
    fn from_iter<I: IntoIterator<Item = Self>>(attempts: I) -> Self {
        let attempts = attempts.into_iter().map(deque_core::Steal::from);
        attempts.collect::<deque_core::Steal<T>>().into()
    }
}

impl<T> From<deque_core::Steal<T>> for Steal<T> {
    fn from(stolen: deque_core::Steal<T>) -> Self {
        match stolen {
            deque_core::Steal::Empty => Self::Empty,
            deque_core::Steal::Success(task) => Self::Success(task),
            deque_core::Steal::Retry => Self::Retry,
        }
    }
}

impl<T> From<Steal<T>> for deque_core::Steal<T> {
    fn from(stolen: Steal<T>) -> Self {
        match stolen {
            Steal::Empty => Self::Empty,
            Steal::Success(task) => Self::Success(task),
            Steal::Retry => Self::Retry,
        }
    }
}

impl<T> fmt::Debug for Steal<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Empty => "Empty",
            Self::Success(_) => "Success(..)",
            Self::Retry => "Retry",
        })
    }
}

/// The owner's handle, as `crossbeam_deque::Worker`.
///
/// # Examples
/// ```
/// use crossbeam_deque::{Steal, Worker};
///
/// let worker = Worker::new_lifo();
/// worker.push(1);
/// worker.push(2);
/// assert_eq!(worker.stealer().steal(), Steal::Success(1));
/// assert_eq!(worker.pop(), Some(2));
/// ```
pub struct Worker<T>(ArcWorker<Box<T>>);

/// A thief's handle, as `crossbeam_deque::Stealer`.
pub struct Stealer<T>(ArcStealer<Box<T>>);

/// A queue that any thread pushes to, as `crossbeam_deque::Injector`.
///
/// # Examples
/// ```
/// use crossbeam_deque::{Injector, Steal};
///
/// let queue = Injector::new();
/// queue.push("job");
/// assert_eq!(queue.steal(), Steal::Success("job"));
/// ```
pub struct Injector<T>(deque_core::Injector<Box<T>>);

#[allow(missing_docs)]
impl<T> Worker<T> {
    #[must_use]
    pub fn new_lifo() -> Self {
        Self(ArcWorker::new_lifo())
    }

    #[must_use]
    pub fn new_fifo() -> Self {
        Self(ArcWorker::new_fifo())
    }

    #[must_use]
    pub fn stealer(&self) -> Stealer<T> {
        Stealer(self.0.stealer())
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn push(&self, task: T) {
        self.0.push(Box::new(task));
    }

    pub fn pop(&self) -> Option<T> {
        self.0.pop().map(|task| *task)
    }
}

/// Implements what `Stealer` and `Injector` have in common.
macro_rules! steals {
    ($thief:ident) => {
        #[allow(missing_docs)]
        impl<T> $thief<T> {
            #[must_use]
            pub fn is_empty(&self) -> bool {
                self.0.is_empty()
            }

            #[must_use]
            pub fn len(&self) -> usize {
                self.0.len()
            }

            pub fn steal(&self) -> Steal<T> {
                self.0.steal().map(|task| *task).into()
            }

            pub fn steal_batch(&self, dest: &Worker<T>) -> Steal<()> {
                self.0.steal_batch(&dest.0).map(drop).into()
            }

            pub fn steal_batch_with_limit(&self, dest: &Worker<T>, limit: usize) -> Steal<()> {
                let stolen = self.0.steal_batch_with_limit(&dest.0, limit);
                stolen.map(drop).into()
            }

            pub fn steal_batch_and_pop(&self, dest: &Worker<T>) -> Steal<T> {
                let stolen = self.0.steal_batch_and_pop(&dest.0);
                stolen.map(|task| *task).into()
            }

            pub fn steal_batch_with_limit_and_pop(
                &self,
                dest: &Worker<T>,
                limit: usize,
            ) -> Steal<T> {
                let stolen = self.0.steal_batch_with_limit_and_pop(&dest.0, limit);
                stolen.map(|task| *task).into()
            }
        }
    };
}

steals!(Stealer);
steals!(Injector);

impl<T> Clone for Stealer<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

#[allow(missing_docs)]
impl<T> Injector<T> {
    #[must_use]
    pub fn new() -> Self {
        Self(deque_core::Injector::new())
    }

    pub fn push(&self, task: T) {
        self.0.push(Box::new(task));
    }
}

impl<T> Default for Injector<T> {
    fn default() -> Self {
        Self::new()
    }
}

/// Implements `Debug` without the elements, so that they need not implement it.
macro_rules! debug {
    ($queue:ident) => {
        impl<T> fmt::Debug for $queue<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(concat!(stringify!($queue), " { .. }"))
            }
        }
    };
}

debug!(Worker);
debug!(Stealer);
debug!(Injector);

#[cfg(test)]
mod tests {
    use super::*;

    struct NeitherDebugNorDefault;

    #[test]
    fn elements_need_no_traits() {
        let worker = Worker::<NeitherDebugNorDefault>::new_lifo();
        let injector = Injector::<NeitherDebugNorDefault>::default();
        assert!(injector.is_empty());
        let text = format!("{worker:?}, {:?}, {injector:?}", worker.stealer());
        assert_eq!(text, "Worker { .. }, Stealer { .. }, Injector { .. }");
        worker.push(NeitherDebugNorDefault);
        let text = format!("{:?}, {:?}", worker.stealer().steal(), injector.steal());
        assert_eq!(text, "Success(..), Empty");
    }
}
