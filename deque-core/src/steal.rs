//! The result of a steal.

/// The result of one attempt to steal.
///
/// # Examples
/// ```
/// use deque_core::{Steal, Worker};
///
/// let worker = Worker::new_lifo();
/// worker.push(7);
/// match worker.stealer().steal() {
///     Steal::Success(job) => assert_eq!(job, 7),
///     Steal::Empty => unreachable!("the job was pushed before"),
///     Steal::Retry => unreachable!("no other thread steals"),
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Steal<T> {
    /// There was nothing to steal.
    Empty,
    /// The element that was stolen.
    Success(T),
    /// Another thread was faster; there may be more. Try again, here or elsewhere.
    Retry,
}

impl<T> Steal<T> {
    /// Returns what was stolen, if anything.
    ///
    /// # Examples
    /// ```
    /// use deque_core::Steal;
    ///
    /// assert_eq!(Steal::Success(7).success(), Some(7));
    /// assert_eq!(Steal::<u32>::Empty.success(), None);
    /// ```
    pub fn success(self) -> Option<T> {
        match self {
            Self::Success(value) => Some(value),
            Self::Empty | Self::Retry => None,
        }
    }

    /// Whether there was nothing to steal.
    ///
    /// # Examples
    /// ```
    /// use deque_core::Steal;
    ///
    /// assert!(Steal::<u32>::Empty.is_empty());
    /// assert!(!Steal::<u32>::Retry.is_empty());
    /// ```
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

    /// Whether the attempt should be repeated.
    ///
    /// # Examples
    /// ```
    /// use deque_core::Steal;
    ///
    /// assert!(Steal::<u32>::Retry.is_retry());
    /// assert!(!Steal::<u32>::Empty.is_retry());
    /// ```
    pub const fn is_retry(&self) -> bool {
        matches!(self, Self::Retry)
    }

    /// Tries the next source unless something was stolen. `Retry` is remembered: the result is
    /// `Empty` only if both are empty.
    ///
    /// # Examples
    /// ```
    /// use deque_core::Steal;
    ///
    /// let next = || Steal::Success(7);
    /// assert_eq!(Steal::Empty.or_else(next), Steal::Success(7));
    /// assert_eq!(Steal::Success(1).or_else(next), Steal::Success(1));
    /// assert_eq!(Steal::<u32>::Retry.or_else(|| Steal::Empty), Steal::Retry);
    /// ```
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
    ///
    /// # Examples
    /// ```
    /// use deque_core::Steal;
    ///
    /// assert_eq!(Steal::Success(7).map(|job| 2 * job), Steal::Success(14));
    /// ```
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Steal<U> {
        match self {
            Self::Empty => Steal::Empty,
            Self::Success(value) => Steal::Success(change(value)),
            Self::Retry => Steal::Retry,
        }
    }
}

/// Takes attempts until something was stolen. `Retry` is remembered: the result is
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
