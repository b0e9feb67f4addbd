//! The parkers in which workers sleep: of one of two kinds, or in the ring of a pool with one.

use pool_core::Parker;

use crate::clock;

mod condvar;
#[cfg(any(target_os = "linux", target_os = "android"))]
mod futex;

#[cfg(test)]
mod tests;

use condvar::CondvarParker;
#[cfg(any(target_os = "linux", target_os = "android"))]
use futex::FutexParker;

#[cfg(all(feature = "io-uring", target_os = "linux", target_pointer_width = "64"))]
use crate::io::ring::parker::RingParker;

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
    Futex([FutexParker; 2]),
    /// Made by the pool's [`PoolIo`](crate::io::backend::PoolIo).
    #[cfg(all(feature = "io-uring", target_os = "linux", target_pointer_width = "64"))]
    Ring(RingParker),
}

impl OsParker {
    pub(crate) fn new(kind: ParkerKind) -> Self {
        match kind {
            #[cfg(any(target_os = "linux", target_os = "android"))]
            ParkerKind::Futex => Self::Futex([const { FutexParker::new() }; 2]),
            _ => Self::Condvar([const { CondvarParker::new() }; 2]),
        }
    }
}

impl Parker for OsParker {
    fn park(&self) {
        match self {
            Self::Condvar([own, _]) => own.park(),
            #[cfg(any(target_os = "linux", target_os = "android"))]
            Self::Futex([own, _]) => own.park(),
            #[cfg(all(feature = "io-uring", target_os = "linux", target_pointer_width = "64"))]
            Self::Ring(parker) => parker.park(),
        }
    }

    fn unpark(&self) {
        match self {
            Self::Condvar([own, _]) => own.unpark(),
            #[cfg(any(target_os = "linux", target_os = "android"))]
            Self::Futex([own, _]) => own.unpark(),
            #[cfg(all(feature = "io-uring", target_os = "linux", target_pointer_width = "64"))]
            Self::Ring(parker) => parker.unpark(),
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
            Self::Futex([_, guest]) => guest.park(),
            // A pool with rings has no guests.
            #[cfg(all(feature = "io-uring", target_os = "linux", target_pointer_width = "64"))]
            Self::Ring(_) => self.relax(),
        }
    }

    fn unpark_guest(&self) {
        match self {
            Self::Condvar([_, guest]) => guest.unpark(),
            #[cfg(any(target_os = "linux", target_os = "android"))]
            Self::Futex([_, guest]) => guest.unpark(),
            #[cfg(all(feature = "io-uring", target_os = "linux", target_pointer_width = "64"))]
            Self::Ring(_) => {}
        }
    }
}
