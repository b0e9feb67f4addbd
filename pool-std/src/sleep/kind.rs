//! Which kinds of sleep protocols there are, by their names.

use std::{error::Error, fmt, str::FromStr};

/// The protocol that decides when the workers of a pool sleep, and which of them are woken.
///
/// All kinds run the same programs, and none loses a wake-up. They differ in which worker is woken,
/// how many are woken, and the cost. The page "Choosing a sleep protocol" of the book compares
/// them.
///
/// # Examples
/// ```
/// use pool_std::{SleepKind, ThreadPoolBuilder};
///
/// for &kind in SleepKind::ALL {
///     let pool = ThreadPoolBuilder::new().num_threads(2).sleep(kind).build()?;
///     assert_eq!(pool.sleep_kind(), kind);
///     assert_eq!(pool.join(|| 1, || 2), (1, 2));
/// }
/// # Ok::<(), pool_std::BuildError>(())
/// ```
#[doc(alias = "SleepProtocolKind")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum SleepKind {
    /// The jobs event counter of `sleep-core`. A job wakes at most one worker. The default.
    #[default]
    Jec,
    /// The protocol `Jec` for every 64 workers, and a word above them. Intended for pools of more
    /// than a few hundred workers, so that not all of them write the same counters. A pool of fewer
    /// workers is split into two halves.
    Sockets,
    /// One atomic word. A job wakes all sleeping workers, and one worker falls asleep at a time.
    Classic,
    /// A count of sleepers that may be negative. A job wakes at most one worker, and tells it where
    /// the job is.
    Hints,
    /// One worker runs at a time: the pool is [seeded](crate::ThreadPoolBuilder::seeded), with the
    /// seed 0 unless another one is given.
    Seeded,
}

impl SleepKind {
    /// All kinds that can be chosen, the default first.
    pub const ALL: &'static [Self] = &[Self::Jec, Self::Sockets, Self::Classic, Self::Hints];

    /// Returns the name, as used in the environment variable `POOL_STD_SLEEP`.
    ///
    /// # Examples
    /// ```
    /// use pool_std::SleepKind;
    ///
    /// assert_eq!(SleepKind::Jec.name().parse(), Ok(SleepKind::Jec));
    /// ```
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Jec => "jec",
            Self::Sockets => "sockets",
            Self::Classic => "classic",
            Self::Hints => "hints",
            Self::Seeded => "seeded",
        }
    }
}

/// The most workers of a socket, unless a pool has more workers than so many sockets hold.
const SOCKET: usize = 64;

impl SleepKind {
    /// Returns how many workers of a pool of this size share one set of counters. A pool of two
    /// workers has two sockets.
    pub(crate) fn workers_counted_together(self, workers: usize) -> usize {
        match self {
            Self::Sockets => {
                let most = workers.div_ceil(usize::BITS as usize);
                workers.div_ceil(2).clamp(1, SOCKET).max(most)
            }
            _ => workers,
        }
    }
}

impl fmt::Display for SleepKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for SleepKind {
    type Err = UnknownSleepKind;

    /// Returns the kind with this [name](Self::name).
    fn from_str(name: &str) -> Result<Self, UnknownSleepKind> {
        let mut kinds = Self::ALL.iter().copied();
        kinds
            .find(|kind| kind.name() == name)
            .ok_or_else(|| UnknownSleepKind {
                name: name.to_owned(),
            })
    }
}

/// The error for a name that is not the name of a [`SleepKind`].
///
/// # Examples
/// ```
/// use pool_std::{SleepKind, UnknownSleepKind};
///
/// let error: UnknownSleepKind = "drowsy".parse::<SleepKind>().unwrap_err();
/// assert_eq!(error.name(), "drowsy");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownSleepKind {
    name: String,
}

impl UnknownSleepKind {
    /// Returns the name.
    ///
    /// # Examples
    /// ```
    /// let error = "drowsy".parse::<pool_std::SleepKind>().unwrap_err();
    /// assert_eq!(error.name(), "drowsy");
    /// ```
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for UnknownSleepKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, kinds) = (&self.name, SleepKind::ALL.iter());
        let names = kinds.map(|kind| kind.name()).collect::<Vec<_>>().join(", ");
        write!(
            f,
            "unknown sleep protocol `{name}`; expected one of {names}"
        )
    }
}

impl Error for UnknownSleepKind {}
