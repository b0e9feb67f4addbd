//! Where posted work is: advice for the worker that is woken for it.

use crate::index::WorkerIndex;

/// Says which source holds the work that a worker is woken for.
///
/// A hint is advice. The work may be gone when the worker looks, and the hint may get lost; then
/// the worker searches everywhere, as it does without a hint.
///
/// A hint fits into one word, [`to_raw`](Self::to_raw), so that a channel may be as simple as an
/// array of atomics or a pipe.
///
/// # Examples
/// ```
/// use sleep_core::{Hint, WorkerIndex};
///
/// let hint = Hint::worker(WorkerIndex::new(3, 8)?);
/// assert_eq!(hint, Hint::Worker(3));
/// assert_eq!(Hint::from_raw(hint.to_raw()), Some(hint));
/// assert_eq!(Hint::from_raw(0), None);
/// # Ok::<(), sleep_core::UnknownWorker>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Hint {
    /// Any source may hold the work.
    #[default]
    Unknown,
    /// The queue of jobs from outside.
    Injector,
    /// The queue of the worker with this number. The number may be too large for a pool if it comes
    /// from a damaged channel.
    Worker(u16),
}

impl Hint {
    /// Returns the hint for a worker's queue: [`Unknown`](Self::Unknown) if its number takes more
    /// than 16 bits.
    #[must_use]
    pub const fn worker(worker: WorkerIndex) -> Self {
        let number = worker.get();
        if number <= u16::MAX as usize {
            // No bit is lost.
            #[allow(clippy::cast_possible_truncation)]
            Self::Worker(number as u16)
        } else {
            Self::Unknown
        }
    }

    /// Returns the hint as a number that is not 0.
    #[must_use]
    pub const fn to_raw(self) -> u32 {
        match self {
            Self::Unknown => 1,
            Self::Injector => 2,
            Self::Worker(number) => 3 + number as u32,
        }
    }

    /// Returns the hint with this number, or `None` if there is none.
    #[must_use]
    pub const fn from_raw(raw: u32) -> Option<Self> {
        match raw {
            1 => Some(Self::Unknown),
            2 => Some(Self::Injector),
            3..=0x1_0002 => {
                // No bit is lost.
                #[allow(clippy::cast_possible_truncation)]
                let number = (raw - 3) as u16;
                Some(Self::Worker(number))
            }
            _ => None,
        }
    }
}

/// A protocol without hints says nothing: any source may hold the work.
impl From<()> for Hint {
    fn from((): ()) -> Self {
        Self::Unknown
    }
}
