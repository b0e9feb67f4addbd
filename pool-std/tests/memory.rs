//! What a pool holds after its deques have grown. One test in this process: it counts all memory.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};

static HELD: AtomicUsize = AtomicUsize::new(0);

/// The system's allocator, counting.
struct Counting;

// SAFETY: the system's allocator does the work; the count changes nothing of it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HELD.fetch_add(layout.size(), Relaxed);
        // SAFETY: the caller's obligations are handed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's obligations are handed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A slot of a deque: the two words of a job.
const SLOT: usize = 2 * size_of::<usize>();
const JOBS: usize = 1 << 16;

#[test]
fn rings_that_were_replaced_are_freed() {
    let pool = pool_std::ThreadPoolBuilder::new()
        .num_threads(2)
        .build()
        .unwrap();
    pool.install(|| ());
    let before = HELD.load(Relaxed);
    pool.scope(|scope| {
        for _ in 0..JOBS {
            scope.spawn(|_| ());
        }
    });
    // Each worker may have grown, but the scope's jobs came from one deque. Its last ring has room
    // for all jobs at most, and those before it would be as large again, all together.
    let largest = JOBS * SLOT;
    let small_things = largest / 4;
    let start = Instant::now();
    let mut held = usize::MAX;
    while start.elapsed() < Duration::from_secs(30) {
        held = HELD.load(Relaxed).saturating_sub(before);
        if held <= largest + small_things {
            return;
        }
        // The workers free between two searches, so they must have something to search for.
        pool.install(|| thread::sleep(Duration::from_millis(1)));
    }
    panic!("{held} bytes are held after growth, the largest ring has {largest}");
}
