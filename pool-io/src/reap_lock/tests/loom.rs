//! Two reapers of one queue.

use ::loom::{
    cell::UnsafeCell,
    model,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    thread,
};

use super::super::*;

/// A queue of entries that are never taken, but counted.
struct Queue {
    lock: ReapLock,
    /// How many entries there are. Relaxed, so that it orders nothing.
    posted: AtomicUsize,
    /// How many entries the reapers have seen. Loom checks that one thread at a time uses it.
    reaped: UnsafeCell<usize>,
}

// SAFETY: the cell belongs to the holder of the lock, which loom checks.
unsafe impl Sync for Queue {}
// SAFETY: as above.
unsafe impl Send for Queue {}

impl Queue {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            lock: ReapLock::new(),
            posted: AtomicUsize::new(0),
            reaped: UnsafeCell::new(0),
        })
    }

    fn post_and_reap(&self) {
        self.posted.fetch_add(1, Relaxed);
        if !self.lock.try_acquire() {
            return;
        }
        loop {
            let posted = self.posted.load(Relaxed);
            // SAFETY: this thread holds the lock.
            self.reaped.with_mut(|reaped| unsafe { *reaped = posted });
            if self.lock.release() {
                return;
            }
        }
    }
}

#[test]
fn no_entry_is_lost_when_reapers_meet() {
    model(|| {
        let queue = Queue::new();
        let other = queue.clone();
        let thread = thread::spawn(move || other.post_and_reap());
        queue.post_and_reap();
        thread.join().unwrap();
        // SAFETY: both threads have ended.
        queue
            .reaped
            .with(|reaped| assert_eq!(unsafe { *reaped }, 2));
    });
}
