//! Replacing a value that others may be reading, and freeing the old one.

use std::{
    sync::{
        Arc, Barrier as Meeting,
        atomic::{AtomicI64, AtomicPtr, Ordering},
    },
    thread,
};

use crossbeam_epoch::{self as epoch, Atomic, Owned};
use protocol::time;
use sleep_core::progress::{Barrier, Reclaimable};

use super::{OurProgress, our_progress};

const RETIRED: usize = 1_000_000;
/// How many values a thread retires before it looks for some that it may free: as crossbeam does.
const FREED_AT_ONCE: usize = 128;

/// A value of the size of a small node, which counts itself if it is told to.
pub(super) struct Node {
    _data: [u64; 4],
    unfreed: Option<Arc<AtomicI64>>,
}

impl Node {
    fn new(unfreed: Option<&Arc<AtomicI64>>) -> Self {
        Self {
            _data: [7; 4],
            unfreed: unfreed.cloned(),
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if let Some(unfreed) = &self.unfreed {
            unfreed.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// A way to free what others may be reading.
pub(super) trait Reclamation: Sync {
    fn new(threads: usize) -> Self;

    /// Replaces a value so often, on one of the threads, by what `node` makes.
    fn replace(&self, times: usize, node: impl FnMut() -> Node);
}

/// Values per second, by so many threads at once.
pub(super) fn rate<R: Reclamation>(threads: usize) -> f64 {
    let reclamation = R::new(threads);
    let each = RETIRED / threads;
    let time = time(|| {
        run(&reclamation, threads, || {
            reclamation.replace(each, || Node::new(None))
        })
    });
    (each * threads) as f64 / time.as_secs_f64()
}

/// The most bytes of values that were out of reach and not yet freed.
pub(super) fn held<R: Reclamation>(threads: usize) -> f64 {
    let reclamation = R::new(threads);
    let unfreed = Arc::new(AtomicI64::new(0));
    let peak = AtomicI64::new(0);
    run(&reclamation, threads, || {
        reclamation.replace(RETIRED / threads, || {
            let now = unfreed.fetch_add(1, Ordering::Relaxed) + 1;
            peak.fetch_max(now, Ordering::Relaxed);
            Node::new(Some(&unfreed))
        });
    });
    peak.into_inner() as f64 * size_of::<Node>() as f64
}

fn run<R: Reclamation>(_reclamation: &R, threads: usize, body: impl Fn() + Sync) {
    let meeting = Meeting::new(threads);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                meeting.wait();
                body();
            });
        }
    });
}

/// Thread progress: the threads are managed.
pub(super) struct Ours<B: Barrier> {
    progress: OurProgress<B>,
    shared: AtomicPtr<Reclaimable<Node>>,
}

impl<B: Barrier> Reclamation for Ours<B> {
    fn new(threads: usize) -> Self {
        let first = Box::new(Reclaimable::new(Node::new(None)));
        Self {
            progress: our_progress(threads),
            shared: AtomicPtr::new(Box::into_raw(first)),
        }
    }

    fn replace(&self, times: usize, mut node: impl FnMut() -> Node) {
        let mut thread = self.progress.register().expect("a line for each thread");
        for number in 0..times {
            let mut active = thread.activate();
            let new = Box::into_raw(Box::new(Reclaimable::new(node())));
            let old = self.shared.swap(new, Ordering::AcqRel);
            // SAFETY: 1. it came from a box, and only we have taken it; 2. it is out of reach.
            unsafe { active.retire(old) };
            if number % FREED_AT_ONCE == 0 {
                active.tick();
            }
        }
    }
}

impl<B: Barrier> Drop for Ours<B> {
    fn drop(&mut self) {
        // SAFETY: the last one; no thread is left.
        drop(unsafe { Box::from_raw(*self.shared.get_mut()) });
    }
}

/// Epochs.
pub(super) struct Epoch {
    shared: Atomic<Node>,
}

impl Reclamation for Epoch {
    fn new(_threads: usize) -> Self {
        Self {
            shared: Atomic::new(Node::new(None)),
        }
    }

    fn replace(&self, times: usize, mut node: impl FnMut() -> Node) {
        for _ in 0..times {
            let guard = epoch::pin();
            let old = self
                .shared
                .swap(Owned::new(node()), Ordering::AcqRel, &guard);
            // SAFETY: only we have taken it, and it is out of reach.
            unsafe { guard.defer_destroy(old) };
        }
    }
}

impl Drop for Epoch {
    fn drop(&mut self) {
        // SAFETY: the last one; no thread is left.
        drop(unsafe { std::mem::take(&mut self.shared).into_owned() });
    }
}
