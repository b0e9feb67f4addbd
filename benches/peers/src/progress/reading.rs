//! Reading under protection, which is begun and ended each time.

use std::{
    hint::black_box,
    sync::{
        Arc, Barrier as Meeting,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use crossbeam_epoch as epoch;
use progress_core::AsymmetricFence;
use protocol::time;

use super::{OurProgress, our_progress};

const READS: u32 = 500_000;

/// What is read: one load.
pub(super) struct Shared(AtomicUsize);

impl Shared {
    pub(super) fn new(value: usize) -> Self {
        Self(AtomicUsize::new(value))
    }

    #[inline]
    pub(super) fn read(&self) {
        black_box(self.0.load(Ordering::Acquire));
    }
}

/// A way to protect what is read.
pub(super) trait Protection: Sync {
    fn new(threads: usize) -> Self;

    /// Reads so often, on one of the threads.
    fn read(&self, times: u32, value: &Shared);
}

/// Nanoseconds for a reading and its protection, on so many threads at once.
pub(super) fn reading<P: Protection>(threads: usize) -> f64 {
    let protection = P::new(threads);
    let value = Shared::new(7);
    let meeting = Meeting::new(threads);
    let total: Duration = thread::scope(|scope| {
        let one = || {
            meeting.wait();
            time(|| protection.read(READS, &value))
        };
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(one)).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("no panic"))
            .sum()
    });
    total.as_secs_f64() * 1e9 / f64::from(READS) / threads as f64
}

/// A line of its own for each thread that is not managed, as `Progress::register_reader` gives it.
pub(super) struct Reading<B: AsymmetricFence>(OurProgress<B>);

impl<B: AsymmetricFence> Protection for Reading<B> {
    fn new(threads: usize) -> Self {
        Self(our_progress(threads))
    }

    fn read(&self, times: u32, value: &Shared) {
        let mut reader = self.0.register_reader().expect("a line for each thread");
        for _ in 0..times {
            let _reading = reader.delay();
            value.read();
        }
    }
}

/// A managed thread that is activated each time.
pub(super) struct Activating<B: AsymmetricFence>(OurProgress<B>);

impl<B: AsymmetricFence> Protection for Activating<B> {
    fn new(threads: usize) -> Self {
        Self(our_progress(threads))
    }

    fn read(&self, times: u32, value: &Shared) {
        let mut thread = self.0.register().expect("a line for each thread");
        for _ in 0..times {
            let _active = thread.activate();
            value.read();
        }
    }
}

/// The shared counters of `Progress::delay`.
pub(super) struct Delaying<B: AsymmetricFence>(OurProgress<B>);

impl<B: AsymmetricFence> Protection for Delaying<B> {
    fn new(threads: usize) -> Self {
        Self(our_progress(threads))
    }

    fn read(&self, times: u32, value: &Shared) {
        for _ in 0..times {
            let _delay = self.0.delay();
            value.read();
        }
    }
}

/// A managed thread, which says after each reading that it has let go, and makes progress.
pub(super) struct Updating<B: AsymmetricFence>(OurProgress<B>);

impl<B: AsymmetricFence> Protection for Updating<B> {
    fn new(threads: usize) -> Self {
        Self(our_progress(threads))
    }

    fn read(&self, times: u32, value: &Shared) {
        let mut thread = self.0.register().expect("a line for each thread");
        let mut active = thread.activate();
        for _ in 0..times {
            value.read();
            if active.update() {
                active.leader_update();
            }
        }
    }
}

/// Pinning an epoch.
pub(super) struct Pinning;

impl Protection for Pinning {
    fn new(_threads: usize) -> Self {
        Self
    }

    fn read(&self, times: u32, value: &Shared) {
        for _ in 0..times {
            let _guard = epoch::pin();
            value.read();
        }
    }
}

/// Counting references.
pub(super) struct Counting(Arc<u64>);

impl Protection for Counting {
    fn new(_threads: usize) -> Self {
        Self(Arc::new(0))
    }

    fn read(&self, times: u32, value: &Shared) {
        for _ in 0..times {
            let _count = Arc::clone(&self.0);
            value.read();
        }
    }
}
