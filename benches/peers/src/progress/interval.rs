//! How often a managed thread updates, against how long it takes until something is freed.
//!
//! Each thread reads a value again and again, updates after so many reads, and always has one
//! operation pending. So progress never rests: a thread that updates more often frees earlier, and
//! spends more time on it.

use std::{
    sync::{
        Barrier as Meeting,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use progress_core::{AsymmetricFence, Operation};
use protocol::time;

use super::{OurProgress, our_progress, reading::Shared};

/// By each thread.
const READS: u32 = 1 << 21;

/// The reads between two updates.
pub(super) const INTERVALS: [u32; 7] = [1, 2, 4, 16, 64, 256, 4096];

/// Nanoseconds for a read, with its share of the updates.
pub(super) fn cost<B: AsymmetricFence>(threads: usize, interval: u32) -> f64 {
    let (time, _) = run::<B>(threads, interval);
    time.as_secs_f64() * 1e9 / f64::from(READS) / threads as f64
}

/// Microseconds from the moment when an operation is scheduled until it is run.
pub(super) fn delay<B: AsymmetricFence>(threads: usize, interval: u32) -> f64 {
    let (time, operations) = run::<B>(threads, interval);
    time.as_secs_f64() * 1e6 / operations as f64
}

/// Returns the time that all threads took together, and the number of operations that were run.
fn run<B: AsymmetricFence>(threads: usize, interval: u32) -> (Duration, usize) {
    let progress: OurProgress<B> = our_progress(threads);
    let value = Shared::new(7);
    let meeting = Meeting::new(threads);
    let operations = AtomicUsize::new(0);
    let total = thread::scope(|scope| {
        let one = || {
            meeting.wait();
            let mut count = 0;
            let time = time(|| count = read(&progress, &value, interval));
            operations.fetch_add(count, Ordering::Relaxed);
            time
        };
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(one)).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("no panic"))
            .sum()
    });
    (total, operations.into_inner().max(1))
}

/// Reads on one thread. Returns the number of operations that it has run.
fn read<B: AsymmetricFence>(progress: &OurProgress<B>, value: &Shared, interval: u32) -> usize {
    let mut thread = progress.register().expect("a participant for each thread");
    let mut active = thread.activate();
    let mut operations = 0;
    active.schedule(Box::new(Operation::new(|| ())));
    for _ in 0..READS / interval {
        for _ in 0..interval {
            value.read();
        }
        // Only its own: none belongs to no thread while all threads run.
        if active.tick() > 0 {
            operations += 1;
            active.schedule(Box::new(Operation::new(|| ())));
        }
    }
    operations
}
