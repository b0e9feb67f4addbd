//! The parkers in which workers sleep: of one of two kinds, or given by a driver.

use pool_core::{Parker, WokenBy};

use crate::{clock, trace::WakeNote};

mod condvar;
mod custom;
#[cfg(any(target_os = "linux", target_os = "android"))]
mod futex;

#[cfg(test)]
mod tests;

use condvar::CondvarParker;
pub(crate) use custom::CustomParker;
#[cfg(any(target_os = "linux", target_os = "android"))]
use {crate::thread_pool::crowd::Crowd, futex::Futexes, std::sync::Arc};

/// How the workers of a pool sleep.
///
/// Both kinds behave the same. The default is the cheaper one that the system has.
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParkerKind {
    /// A mutex and a condition variable. On every system.
    Condvar,
    /// A futex. On Linux and Android; elsewhere the same as `Condvar`.
    Futex,
}

impl Default for ParkerKind {
    fn default() -> Self {
        // Miri does not run raw system calls.
        if cfg!(miri) {
            Self::Condvar
        } else {
            Self::Futex
        }
    }
}

/// The parker of a worker, or of another thread that waits.
pub(crate) struct OsParker {
    way: Way,
    note: WakeNote,
}

/// How it waits. The second token is that of a guest, which sleeps beside the worker.
enum Way {
    Condvar([CondvarParker; 2]),
    #[cfg(any(target_os = "linux", target_os = "android"))]
    Futex(Futexes),
    /// Given by the pool's driver.
    Custom(CustomParker),
}

impl From<Way> for OsParker {
    fn from(way: Way) -> Self {
        let note = WakeNote::new();
        Self { way, note }
    }
}

impl OsParker {
    pub(crate) fn new(kind: ParkerKind) -> Self {
        match kind {
            #[cfg(any(target_os = "linux", target_os = "android"))]
            ParkerKind::Futex => Way::Futex(Futexes::new(None)).into(),
            _ => Way::Condvar([const { CondvarParker::new() }; 2]).into(),
        }
    }

    /// Creates the parker of a worker that may be the watchdog of its pool.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub(crate) fn in_crowd(crowd: &Arc<Crowd>) -> Self {
        Way::Futex(Futexes::new(Some(crowd.clone()))).into()
    }

    /// Creates a parker from that of a driver.
    pub(crate) fn custom(parker: CustomParker) -> Self {
        Way::Custom(parker).into()
    }

    /// Returns the parker of the driver, if it is one.
    pub(crate) fn as_custom(&self) -> Option<&CustomParker> {
        match &self.way {
            Way::Custom(parker) => Some(parker),
            _ => None,
        }
    }

    /// Returns which worker has given the last token, if the pool keeps a trace.
    #[inline]
    pub(crate) fn woken_by(&self) -> WokenBy {
        self.note.get()
    }
}

impl Parker for OsParker {
    fn park(&self) {
        match &self.way {
            Way::Condvar([own, _]) => own.park(),
            #[cfg(any(target_os = "linux", target_os = "android"))]
            Way::Futex(it) => it.own.park(Futexes::alarm(it.crowd.as_deref())),
            Way::Custom(parker) => parker.park(),
        }
    }

    fn unpark(&self) {
        self.note.leave();
        match &self.way {
            Way::Condvar([own, _]) => own.unpark(),
            #[cfg(any(target_os = "linux", target_os = "android"))]
            Way::Futex(it) => it.own.unpark(),
            Way::Custom(parker) => parker.unpark(),
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
            Way::Condvar([_, guest]) => guest.park(),
            #[cfg(any(target_os = "linux", target_os = "android"))]
            Way::Futex(it) => it.guest.park(Futexes::alarm(None)),
            // A pool with a driver has no guests.
            Way::Custom(_) => self.relax(),
        }
    }

    fn unpark_guest(&self) {
        self.note.leave();
        match &self.way {
            Way::Condvar([_, guest]) => guest.unpark(),
            #[cfg(any(target_os = "linux", target_os = "android"))]
            Way::Futex(it) => it.guest.unpark(),
            Way::Custom(_) => {}
        }
    }
}
