//! Replacing values that others may be reading, and freeing the old ones.

use std::{
    sync::{
        Arc, Barrier as Meeting,
        atomic::{AtomicI64, AtomicPtr, Ordering},
    },
    thread,
};

use crossbeam_epoch::{self as epoch, Atomic, Owned};
use crossbeam_utils::CachePadded;
use progress_core::{AsymmetricFence, Reclaimable};
use protocol::time;

use super::{OurProgress, our_progress};

const RETIRED: usize = 1_000_000;
/// How many values a thread retires before it looks for some that it may free: as many as with
/// crossbeam.
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

    /// Replaces a thread's value so often, by what `node` makes. Each has its own, as in a table
    /// whose rows seldom collide: else one measures the exchange, and how the allocator takes
    /// memory back from another thread.
    fn replace(&self, thread: usize, times: usize, node: impl FnMut() -> Node);
}

/// Values per second, by so many threads at once.
pub(super) fn rate<R: Reclamation>(threads: usize) -> f64 {
    let reclamation = R::new(threads);
    let each = RETIRED / threads;
    let time = time(|| {
        run(threads, |thread| {
            reclamation.replace(thread, each, || Node::new(None))
        })
    });
    (each * threads) as f64 / time.as_secs_f64()
}

/// The most bytes of values that were out of reach and not yet freed.
pub(super) fn held<R: Reclamation>(threads: usize) -> f64 {
    let reclamation = R::new(threads);
    let unfreed = Arc::new(AtomicI64::new(0));
    let peak = AtomicI64::new(0);
    run(threads, |thread| {
        reclamation.replace(thread, RETIRED / threads, || {
            let now = unfreed.fetch_add(1, Ordering::Relaxed) + 1;
            peak.fetch_max(now, Ordering::Relaxed);
            Node::new(Some(&unfreed))
        });
    });
    peak.into_inner() as f64 * size_of::<Node>() as f64
}

/// Runs it on so many threads, with its number.
fn run(threads: usize, body: impl Fn(usize) + Sync) {
    let meeting = Meeting::new(threads);
    thread::scope(|scope| {
        for thread in 0..threads {
            let (meeting, body) = (&meeting, &body);
            scope.spawn(move || {
                meeting.wait();
                body(thread);
            });
        }
    });
}

/// Thread progress: the threads are managed.
pub(super) struct Ours<B: AsymmetricFence> {
    progress: OurProgress<B>,
    shared: Vec<CachePadded<AtomicPtr<Reclaimable<Node>>>>,
}

impl<B: AsymmetricFence> Reclamation for Ours<B> {
    fn new(threads: usize) -> Self {
        let first = || Box::into_raw(Box::new(Reclaimable::new(Node::new(None))));
        Self {
            progress: our_progress(threads),
            shared: (0..threads)
                .map(|_| CachePadded::new(AtomicPtr::new(first())))
                .collect(),
        }
    }

    fn replace(&self, index: usize, times: usize, mut node: impl FnMut() -> Node) {
        let mut thread = self.progress.register().expect("a line for each thread");
        for number in 0..times {
            let mut active = thread.activate();
            let new = Box::into_raw(Box::new(Reclaimable::new(node())));
            let old = self.shared[index].swap(new, Ordering::AcqRel);
            // SAFETY: 1. it came from a box, and only we have taken it; 2. it is out of reach.
            unsafe { active.retire(old) };
            if number % FREED_AT_ONCE == 0 {
                active.tick();
            }
        }
    }
}

impl<B: AsymmetricFence> Drop for Ours<B> {
    fn drop(&mut self) {
        for last in &mut self.shared {
            // SAFETY: no thread has taken it, and no thread is left.
            drop(unsafe { Box::from_raw(*last.get_mut()) });
        }
    }
}

/// Epochs.
pub(super) struct Epoch {
    shared: Vec<CachePadded<Atomic<Node>>>,
}

impl Reclamation for Epoch {
    fn new(threads: usize) -> Self {
        Self {
            shared: (0..threads)
                .map(|_| CachePadded::new(Atomic::new(Node::new(None))))
                .collect(),
        }
    }

    fn replace(&self, index: usize, times: usize, mut node: impl FnMut() -> Node) {
        for _ in 0..times {
            let guard = epoch::pin();
            let old = self.shared[index].swap(Owned::new(node()), Ordering::AcqRel, &guard);
            // SAFETY: only we have taken it, and it is out of reach.
            unsafe { guard.defer_destroy(old) };
        }
    }
}

impl Drop for Epoch {
    fn drop(&mut self) {
        for last in self.shared.drain(..) {
            // SAFETY: no thread has taken it, and no thread is left.
            drop(unsafe { last.into_inner().into_owned() });
        }
    }
}
