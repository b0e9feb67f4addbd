//! The answer of a steal.

/// What came of one attempt to steal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Steal<T> {
    /// There was nothing to steal.
    Empty,
    /// This was stolen.
    Success(T),
    /// Another thread was faster; there may be more. Try again, here or elsewhere.
    Retry,
}

impl<T> Steal<T> {
    /// What was stolen, if anything.
    pub fn success(self) -> Option<T> {
        match self {
            Self::Success(value) => Some(value),
            Self::Empty | Self::Retry => None,
        }
    }

    /// True if there was nothing to steal.
    pub const fn is_empty(&self) -> bool {
        matches!(self, Self::Empty)
    }

    /// Whether something was stolen.
    ///
    /// # Examples
    /// ```
    /// use deque_core::Steal;
    ///
    /// assert!(Steal::Success(7).is_success());
    /// assert!(!Steal::<u32>::Retry.is_success());
    /// ```
    pub const fn is_success(&self) -> bool {
        matches!(self, Self::Success(_))
    }

    /// True if the attempt should be repeated.
    pub const fn is_retry(&self) -> bool {
        matches!(self, Self::Retry)
    }

    /// Tries the next source unless something was stolen. `Retry` is remembered: the answer is
    /// `Empty` only if both were.
    pub fn or_else(self, next: impl FnOnce() -> Self) -> Self {
        match self {
            Self::Success(_) => self,
            Self::Empty => next(),
            Self::Retry => match next() {
                Self::Success(value) => Self::Success(value),
                Self::Empty | Self::Retry => Self::Retry,
            },
        }
    }

    /// Changes what was stolen.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Steal<U> {
        match self {
            Self::Empty => Steal::Empty,
            Self::Success(value) => Steal::Success(change(value)),
            Self::Retry => Steal::Retry,
        }
    }
}

/// Takes attempts until something was stolen. `Retry` is remembered: the answer is
/// [`Empty`](Steal::Empty) only if all were.
///
/// # Examples
/// ```
/// use deque_core::{Steal, Worker};
///
/// let workers = [Worker::new_lifo(), Worker::new_lifo(), Worker::new_fifo()];
/// workers[1].push("job");
/// let steal = || Steal::from_iter(workers.iter().map(|worker| worker.stealer().steal()));
/// assert_eq!(steal(), Steal::Success("job"));
/// assert_eq!(steal(), Steal::Empty);
///
/// let attempts = [Steal::Empty, Steal::<u32>::Retry, Steal::Empty];
/// assert_eq!(Steal::from_iter(attempts), Steal::Retry);
/// ```
impl<T> FromIterator<Self> for Steal<T> {
    fn from_iter<I: IntoIterator<Item = Self>>(attempts: I) -> Self {
        let mut answer = Self::Empty;
        for attempt in attempts {
            match attempt {
                Self::Success(_) => return attempt,
                Self::Retry => answer = Self::Retry,
                Self::Empty => {}
            }
        }
        answer
    }
}
