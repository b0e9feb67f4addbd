//! How much memory a search takes at once. A program of its own, since it counts all memory.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicUsize, Ordering},
};

use proofs::{litmus::Litmus, memory::check};

/// The system's allocator, which counts.
struct Counting;

static USED: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: all is passed on to the system's allocator, with the same arguments.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // Ordering: Relaxed; plain counters of a test with one thread.
        let used = USED.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        MOST.fetch_max(used, Ordering::Relaxed);
        // SAFETY: the caller's obligations are those of the system's allocator.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        USED.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's obligations are those of the system's allocator.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Reproduces a bug: all orders of the writes to a location were kept at once, so that eleven
/// writes without an order took gigabytes.
#[test]
fn one_order_of_writes_is_kept_at_a_time() {
    let mut text = String::new();
    for value in 1..=8 {
        text += &format!("thread\nstore x {value} relaxed\n");
    }
    let program: Litmus = (text + "allow [x]=1").parse().unwrap();
    let before = USED.load(Ordering::Relaxed);
    MOST.store(before, Ordering::Relaxed);
    let report = check(&program).unwrap();
    assert_eq!(report.executions, 40_320);
    let most = MOST.load(Ordering::Relaxed) - before;
    assert!(most < 1_000_000, "{most} bytes");
}
