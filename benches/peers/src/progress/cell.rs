//! Reading a value that other threads may replace as a whole.

use std::{
    hint::black_box,
    sync::{RwLock, atomic::Ordering},
};

use arc_swap::ArcSwap;
use crossbeam_epoch::{self as epoch, Atomic};
use pool_std::{ThreadPool, ThreadPoolBuilder, progress::RcuCell};

use super::reading::{Protection, Shared};

/// A cell of a pool, which threads outside the pool read.
pub(super) struct Ours(RcuCell<Shared>);

impl Protection for Ours {
    fn new(_threads: usize) -> Self {
        let builder = ThreadPoolBuilder::new().num_threads(1);
        let pool = builder.build().expect("a small pool");
        Self(RcuCell::new(pool.progress(), Shared::new(7)))
    }

    fn read(&self, times: u32, _value: &Shared) {
        for _ in 0..times {
            self.0.read().read();
        }
    }
}

/// A cell of a pool, which its workers read.
pub(super) struct OursInJobs {
    pool: ThreadPool,
    cell: RcuCell<Shared>,
}

impl Protection for OursInJobs {
    fn new(threads: usize) -> Self {
        let builder = ThreadPoolBuilder::new().num_threads(threads);
        let pool = builder.build().expect("a small pool");
        let cell = RcuCell::new(pool.progress(), Shared::new(7));
        Self { pool, cell }
    }

    fn read(&self, times: u32, _value: &Shared) {
        self.pool
            .install(|| (0..times).for_each(|_| self.cell.with(Shared::read)));
    }
}

/// Arcs that are exchanged.
pub(super) struct Swapped(ArcSwap<Shared>);

impl Protection for Swapped {
    fn new(_threads: usize) -> Self {
        Self(ArcSwap::from_pointee(Shared::new(7)))
    }

    fn read(&self, times: u32, _value: &Shared) {
        for _ in 0..times {
            self.0.load().read();
        }
    }
}

/// A pointer that is read in an epoch.
pub(super) struct Epoch(Atomic<Shared>);

impl Protection for Epoch {
    fn new(_threads: usize) -> Self {
        Self(Atomic::new(Shared::new(7)))
    }

    fn read(&self, times: u32, _value: &Shared) {
        for _ in 0..times {
            let guard = epoch::pin();
            let value = self.0.load(Ordering::Acquire, &guard);
            // SAFETY: the value is replaced by no thread.
            unsafe { value.deref() }.read();
        }
    }
}

impl Drop for Epoch {
    fn drop(&mut self) {
        let value = std::mem::replace(&mut self.0, Atomic::null());
        // SAFETY: no other thread has the cell.
        drop(unsafe { value.into_owned() });
    }
}

/// A lock that many may hold for reading.
pub(super) struct Locked(RwLock<Shared>);

impl Protection for Locked {
    fn new(_threads: usize) -> Self {
        Self(RwLock::new(Shared::new(7)))
    }

    fn read(&self, times: u32, _value: &Shared) {
        for _ in 0..times {
            black_box(&*self.0.read().expect("no panic")).read();
        }
    }
}
