//! The parkers in which workers sleep: of one of two kinds, or given by a driver.

use pool_core::Parker;

use crate::clock;

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

/// A parker of either kind. The second token is that of a guest, which sleeps beside the worker.
pub(crate) enum OsParker {
    Condvar([CondvarParker; 2]),
    #[cfg(any(target_os = "linux", target_os = "android"))]
    Futex(Futexes),
    /// Given by the pool's driver.
    Custom(CustomParker),
}

impl OsParker {
    pub(crate) fn new(kind: ParkerKind) -> Self {
        match kind {
            #[cfg(any(target_os = "linux", target_os = "android"))]
            ParkerKind::Futex => Self::Futex(Futexes::new(None)),
            _ => Self::Condvar([const { CondvarParker::new() }; 2]),
        }
    }

    /// Creates the parker of a worker that may be the watchdog of its pool.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub(crate) fn in_crowd(crowd: &Arc<Crowd>) -> Self {
        Self::Futex(Futexes::new(Some(crowd.clone())))
    }
}

impl Parker for OsParker {
    fn park(&self) {
        match self {
            Self::Condvar([own, _]) => own.park(),
            #[cfg(any(target_os = "linux", target_os = "android"))]
            Self::Futex(it) => it.own.park(Futexes::alarm(it.crowd.as_deref())),
            Self::Custom(parker) => parker.park(),
        }
    }

    fn unpark(&self) {
        match self {
            Self::Condvar([own, _]) => own.unpark(),
            #[cfg(any(target_os = "linux", target_os = "android"))]
            Self::Futex(it) => it.own.unpark(),
            Self::Custom(parker) => parker.unpark(),
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
        match self {
            Self::Condvar([_, guest]) => guest.park(),
            #[cfg(any(target_os = "linux", target_os = "android"))]
            Self::Futex(it) => it.guest.park(Futexes::alarm(None)),
            // A pool with a driver has no guests.
            Self::Custom(_) => self.relax(),
        }
    }

    fn unpark_guest(&self) {
        match self {
            Self::Condvar([_, guest]) => guest.unpark(),
            #[cfg(any(target_os = "linux", target_os = "android"))]
            Self::Futex(it) => it.guest.unpark(),
            Self::Custom(_) => {}
        }
    }
}
