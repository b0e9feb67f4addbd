//! What a pool holds after a burst of jobs. One test in this process: it counts all memory.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::{
        Barrier,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

static HELD: AtomicUsize = AtomicUsize::new(0);

/// The system's allocator, counting.
struct Counting;

// SAFETY: the system's allocator does the work; the count changes nothing of it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HELD.fetch_add(layout.size(), Relaxed);
        // SAFETY: the caller's obligations are forwarded.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's obligations are forwarded.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Spawned before any of them is run.
const JOBS: usize = if cfg!(debug_assertions) {
    1_000_000
} else {
    10_000_000
};
/// What a ring for as many jobs takes at least.
const RING: usize = JOBS * size_of::<usize>();
/// What may be left: blocks for 16,384 jobs and the lists of them, rings of 1,024 slots, and what
/// else a pool of two has made by then.
const LITTLE: usize = (16_384 * (64 + size_of::<usize>())) + (64 << 10);

// A small ring replaces the ring of the burst, which is freed with those before it.
#[test]
fn a_burst_of_spawns_leaves_little_behind() {
    let pool = pool_std::ThreadPoolBuilder::new()
        .num_threads(2)
        .build()
        .unwrap();
    pool.broadcast(|_| ());
    let before = HELD.load(Relaxed);
    let held = || HELD.load(Relaxed).saturating_sub(before);
    let (other_is_busy, jobs_are_spawned) = (Barrier::new(2), Barrier::new(2));
    pool.scope(|scope| {
        // No thief takes jobs away while they are spawned.
        scope.spawn(|_| {
            other_is_busy.wait();
            jobs_are_spawned.wait();
        });
        other_is_busy.wait();
        for _ in 0..JOBS {
            scope.spawn(|_| ());
        }
        assert!(held() > RING);
        jobs_are_spawned.wait();
    });
    // The workers free between two searches, so they must have something to search for.
    for _ in 0..100_000 {
        if held() <= LITTLE {
            return;
        }
        pool.broadcast(|_| ());
    }
    panic!("{} bytes are held after the burst", held());
}
