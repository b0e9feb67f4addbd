//! The workers' numbers, and what can be wrong with them.

use core::fmt;

/// The number of a worker, checked once by [`SleepProtocol::worker`](crate::SleepProtocol::worker).
///
/// # Examples
/// ```
/// use sleep_core::{IdlePolicy, Inline, Jec, Parker, SleepProtocol, Slot};
/// # struct Core;
/// # impl Parker for Core {
/// #     fn park(&self) {}
/// #     fn unpark(&self) {}
/// # }
///
/// static SLEEP: Jec<Inline<Slot<Core>, 2>> =
///     Jec::from_array([const { Slot::new(Core) }; 2], IdlePolicy::DEFAULT);
///
/// let worker = SLEEP.worker(1)?;
/// assert_eq!(worker.get(), 1);
/// # Ok::<(), sleep_core::UnknownWorker>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkerIndex(usize);

impl WorkerIndex {
    /// Creates the number `index` of one of `workers` workers.
    ///
    /// # Examples
    /// ```
    /// use sleep_core::WorkerIndex;
    ///
    /// assert_eq!(WorkerIndex::new(3, 4)?.get(), 3);
    /// let error = WorkerIndex::new(4, 4).unwrap_err();
    /// assert_eq!(error.to_string(), "no worker 4, there are 4");
    /// # Ok::<(), sleep_core::UnknownWorker>(())
    /// ```
    ///
    /// # Errors
    /// [`UnknownWorker`] if there are not that many.
    pub const fn new(index: usize, workers: usize) -> Result<Self, UnknownWorker> {
        if index < workers {
            Ok(Self(index))
        } else {
            Err(UnknownWorker { index, workers })
        }
    }

    /// Returns the number itself.
    #[must_use]
    pub const fn get(self) -> usize {
        self.0
    }
}

/// Returns the numbers below `count` in a circle that begins with `first`, or with 0 if there is no
/// such number.
#[inline]
pub(crate) fn circle(first: usize, count: usize) -> impl Iterator<Item = usize> {
    // Not by two ranges: what is done with each number would be compiled twice.
    let first = first.min(count);
    (0..count).map(move |step| {
        let beyond = count - first;
        if step < beyond {
            first + step
        } else {
            step - beyond
        }
    })
}

/// More workers than the thread counters can count.
///
/// # Examples
/// ```
/// use sleep_core::TooManyWorkers;
///
/// let error = TooManyWorkers { requested: 70_000, maximum: 65_535 };
/// assert_eq!(error.to_string(), "70000 workers requested, at most 65535 are possible");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooManyWorkers {
    /// The number that was requested.
    pub requested: usize,
    /// The greatest possible number.
    pub maximum: usize,
}

impl TooManyWorkers {
    /// Returns the error if more than `maximum` workers are requested.
    pub(crate) fn unless_at_most(maximum: usize, requested: usize) -> Result<(), Self> {
        if requested > maximum {
            return Err(Self { requested, maximum });
        }
        Ok(())
    }
}

impl fmt::Display for TooManyWorkers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} workers requested, at most {} are possible",
            self.requested, self.maximum
        )
    }
}

impl core::error::Error for TooManyWorkers {}

/// There is no worker with this index.
///
/// # Examples
/// ```
/// use sleep_core::{IdlePolicy, Inline, Jec, Parker, SleepProtocol, Slot};
/// # struct Core;
/// # impl Parker for Core {
/// #     fn park(&self) {}
/// #     fn unpark(&self) {}
/// # }
///
/// static SLEEP: Jec<Inline<Slot<Core>, 2>> =
///     Jec::from_array([const { Slot::new(Core) }; 2], IdlePolicy::DEFAULT);
///
/// let error = SLEEP.worker(2).unwrap_err();
/// assert_eq!((error.index, error.workers), (2, 2));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownWorker {
    /// The index that was requested.
    pub index: usize,
    /// The number of workers.
    pub workers: usize,
}

impl fmt::Display for UnknownWorker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no worker {}, there are {}", self.index, self.workers)
    }
}

impl core::error::Error for UnknownWorker {}
