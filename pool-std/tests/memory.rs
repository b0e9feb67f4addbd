//! What a pool holds after its deques have grown. One test in this process: it counts all memory.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::{
        Barrier,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
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

/// A slot of a deque: the address of a job.
const SLOT: usize = size_of::<usize>();
/// Slots of the ring that it takes for the jobs below.
const RING: usize = 1 << 16;
const JOBS: usize = RING - 100;

#[test]
fn rings_that_were_replaced_are_freed() {
    let pool = pool_std::ThreadPoolBuilder::new()
        .num_threads(2)
        .build()
        .unwrap();
    pool.install(|| ());
    let before = HELD.load(Relaxed);
    let (other_is_busy, jobs_are_spawned) = (Barrier::new(2), Barrier::new(2));
    pool.scope(|scope| {
        // Nobody takes jobs away while they are spawned.
        scope.spawn(|_| {
            other_is_busy.wait();
            jobs_are_spawned.wait();
        });
        other_is_busy.wait();
        for _ in 0..JOBS {
            scope.spawn(|_| ());
        }
        jobs_are_spawned.wait();
    });
    // The rings before the last one are as large again, all together.
    let largest = RING * SLOT;
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
