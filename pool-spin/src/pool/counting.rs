//! A parker that counts.

use core::fmt;

use pool_core::Parker;

use crate::{
    machine::CoreParker,
    primitive::{AtomicUsize, Ordering},
};

/// Counts how often its worker has parked and been unparked.
pub struct Counting<P> {
    sleeps: AtomicUsize,
    wake_ups: AtomicUsize,
    inner: P,
}

impl<P: CoreParker> Counting<P> {
    pub(crate) const fn new() -> Self {
        Self {
            sleeps: AtomicUsize::new(0),
            wake_ups: AtomicUsize::new(0),
            inner: P::NEW,
        }
    }

    /// How often the worker has parked.
    pub(crate) fn sleeps(&self) -> usize {
        self.sleeps.load(Ordering::Relaxed)
    }

    /// How often somebody has unparked it.
    pub(crate) fn wake_ups(&self) -> usize {
        self.wake_ups.load(Ordering::Relaxed)
    }
}

impl<P: Parker> Parker for Counting<P> {
    fn park(&self) {
        self.sleeps.fetch_add(1, Ordering::Relaxed);
        self.inner.park();
    }

    fn unpark(&self) {
        self.wake_ups.fetch_add(1, Ordering::Relaxed);
        self.inner.unpark();
    }

    fn relax(&self) {
        self.inner.relax();
    }
}

impl<P: fmt::Debug> fmt::Debug for Counting<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}
