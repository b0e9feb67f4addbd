//! The allocator of a simulation: no two allocations share a cache line.

use std::alloc::{GlobalAlloc, Layout, System};

use crate::machine;

const LINE: usize = 64;

/// The system's allocator, with each allocation on cache lines of its own.
///
/// Otherwise it would depend on the history of the process which objects share a line, and no run
/// could be repeated. Lines of memory that is freed are forgotten by the machine.
#[derive(Debug, Clone, Copy)]
pub struct LineAllocator;

fn lines(layout: Layout) -> Layout {
    layout
        .align_to(LINE)
        .map_or(layout, |layout| layout.pad_to_align())
}

// SAFETY: the layouts that the system's allocator sees are at least as large and as aligned as
// those of the caller, and the same in both calls for an allocation.
unsafe impl GlobalAlloc for LineAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the layout is not empty, as our caller's is not.
        unsafe { System.alloc(lines(layout)) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as in `alloc`.
        unsafe { System.alloc_zeroed(lines(layout)) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        machine::forget(pointer as usize, layout.size());
        // SAFETY: the pointer came from `alloc` or `alloc_zeroed` with the same layout.
        unsafe { System.dealloc(pointer, lines(layout)) };
    }
}
