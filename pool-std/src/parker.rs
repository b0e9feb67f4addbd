//! The parkers in which workers sleep: of one of two kinds, or given by a driver.

use std::sync::Arc;

use pool_core::{Parker, WokenBy};

use crate::{clock, seeded::Turns, system, thread_pool::crowd::Crowd, tracer::WakeNote};

mod condvar;
mod custom;
mod duties;
mod futex;
mod tokens;

#[cfg(test)]
mod tests;

use condvar::CondvarToken;
pub(crate) use custom::CustomParker;
use futex::FutexToken;
use tokens::Tokens;

/// How the workers of a pool sleep.
///
/// Both kinds behave the same. The default is the cheaper kind that the system offers.
///
/// # Examples
/// ```
/// use pool_std::{ParkerKind, ThreadPoolBuilder};
///
/// // A condition variable, which every system has.
/// let pool = ThreadPoolBuilder::new().num_threads(2).parker(ParkerKind::Condvar).build()?;
/// assert_eq!(pool.join(|| 1, || 2), (1, 2));
/// # Ok::<(), pool_std::BuildError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum ParkerKind {
    /// A mutex and a condition variable. Available on every system.
    Condvar,
    /// A word in memory on which a thread can wait: a futex on Linux and Android, `WaitOnAddress`
    /// on Windows, `os_sync_wait_on_address` on macOS from 14.4 and on iOS from 17.4. Elsewhere,
    /// the same as `Condvar`.
    #[default]
    #[doc(alias = "WaitOnAddress")]
    #[doc(alias = "os_sync_wait_on_address")]
    Futex,
}

/// The parker of a worker, or of another thread that waits.
pub(crate) struct OsParker {
    way: Way,
    note: WakeNote,
}

/// How it waits.
enum Way {
    Condvar(Tokens<CondvarToken>),
    Futex(Tokens<FutexToken>),
    /// Given by the pool's driver.
    Custom(CustomParker),
    /// By the turns of a seeded pool. Its sleep protocol does not use parkers; isolated waits do.
    Turns(Arc<Turns>, usize),
}

impl OsParker {
    pub(crate) fn new(kind: ParkerKind) -> Self {
        Self::in_crowd(kind, None)
    }

    /// Creates the parker of a worker that may be the watchdog of its pool.
    pub(crate) fn in_crowd(kind: ParkerKind, crowd: Option<Arc<Crowd>>) -> Self {
        Self::from_way(match kind {
            ParkerKind::Futex if system::has_futex() => Way::Futex(Tokens::new(crowd)),
            ParkerKind::Futex | ParkerKind::Condvar => Way::Condvar(Tokens::new(crowd)),
        })
    }

    /// Creates a parker from that of a driver.
    pub(crate) fn custom(parker: CustomParker) -> Self {
        Self::from_way(Way::Custom(parker))
    }

    /// Creates the parker of a worker of a seeded pool, which is this member of its turns.
    pub(crate) fn in_turns(turns: Arc<Turns>, member: usize) -> Self {
        Self::from_way(Way::Turns(turns, member))
    }

    fn from_way(way: Way) -> Self {
        let note = WakeNote::new();
        Self { way, note }
    }

    /// Returns the parker of the driver, if it is one.
    pub(crate) fn as_custom(&self) -> Option<&CustomParker> {
        match &self.way {
            Way::Custom(parker) => Some(parker),
            _ => None,
        }
    }

    /// Returns which worker has given the last token, once, if the pool keeps a trace.
    #[inline]
    pub(crate) fn woken_by(&self) -> WokenBy {
        self.note.take()
    }
}

impl Parker for OsParker {
    fn park(&self) {
        match &self.way {
            Way::Condvar(tokens) => tokens.park(),
            Way::Futex(tokens) => tokens.park(),
            Way::Custom(parker) => parker.park(),
            Way::Turns(turns, member) => turns.park(*member),
        }
    }

    fn unpark(&self) {
        self.note.leave();
        match &self.way {
            Way::Condvar(tokens) => tokens.unpark(),
            Way::Futex(tokens) => tokens.unpark(),
            Way::Custom(parker) => parker.unpark(),
            Way::Turns(turns, member) => turns.unpark(*member),
        }
    }

    fn relax(&self) {
        std::thread::yield_now();
    }

    #[inline]
    fn now(&self) -> Option<u64> {
        clock::now()
    }

    fn park_guest(&self) {
        match &self.way {
            Way::Condvar(tokens) => tokens.park_guest(),
            Way::Futex(tokens) => tokens.park_guest(),
            // Such pools have no guests.
            Way::Custom(_) | Way::Turns(..) => self.relax(),
        }
    }

    fn unpark_guest(&self) {
        self.note.leave();
        match &self.way {
            Way::Condvar(tokens) => tokens.unpark_guest(),
            Way::Futex(tokens) => tokens.unpark_guest(),
            Way::Custom(_) | Way::Turns(..) => {}
        }
    }
}
