//! Memory for spawned jobs, which threads keep for the next ones.
//!
//! One thread allocates a job and another one often frees it, which is the dear case of most allocators. Here the thread
//! that has run a job keeps its block for the next job that it spawns. A thread that only runs jobs passes full magazines
//! of blocks to the threads that only spawn them, by way of the depot.
//!
//! Each block has one owner at any time: a job, a magazine in the cache of a thread, or a magazine in the depot.
//!
//! Source: J. Bonwick and J. Adams, *Magazines and Vmem* (2001).

use std::{
    alloc::{Layout, alloc, dealloc, handle_alloc_error},
    cell::Cell,
    ptr,
    sync::atomic::{AtomicPtr, Ordering},
};

#[cfg(test)]
mod tests;

/// The size of a block. Larger jobs are in boxes.
const SIZE: usize = 64;
const LAYOUT: Layout = match Layout::from_size_align(SIZE, 16) {
    Ok(layout) => layout,
    Err(_) => panic!("the alignment is a power of two"),
};

/// So many blocks go to the depot and come from it together.
const MAGAZINE: usize = 32;

static DEPOT: Depot = Depot::new();

thread_local! {
    static CACHE: Cache = const { Cache::new() };
}

/// A block that belongs to no job.
struct Free {
    next: *mut Free,
}

/// A stack of free blocks.
struct Magazine {
    first: Cell<*mut Free>,
    count: Cell<usize>,
}

impl Magazine {
    const fn new() -> Self {
        Self {
            first: Cell::new(ptr::null_mut()),
            count: Cell::new(0),
        }
    }

    #[inline]
    fn pop(&self) -> Option<*mut Free> {
        let first = self.first.get();
        if first.is_null() {
            return None;
        }
        // SAFETY: the magazine owns the block, which is free.
        self.first.set(unsafe { (*first).next });
        self.count.set(self.count.get() - 1);
        Some(first)
    }

    /// # Safety
    /// 1. `block` has [`LAYOUT`], and the caller owns it and gives it away.
    #[inline]
    unsafe fn push(&self, block: *mut Free) {
        let next = self.first.replace(block);
        // SAFETY: by obligation 1 the block may be written, and is large enough.
        unsafe { block.write(Free { next }) };
        self.count.set(self.count.get() + 1);
    }

    /// Takes all blocks out.
    fn take(&self) -> *mut Free {
        self.count.set(0);
        self.first.replace(ptr::null_mut())
    }
}

impl Drop for Magazine {
    fn drop(&mut self) {
        while let Some(block) = self.pop() {
            // SAFETY: the magazine owned the block, which was allocated with this layout.
            unsafe { dealloc(block.cast(), LAYOUT) };
        }
    }
}

/// What a thread keeps: a magazine in use and one that is full or empty. So a thread that spawns and runs jobs in turn
/// does not go to the depot each time.
struct Cache {
    current: Magazine,
    other: Magazine,
}

impl Cache {
    const fn new() -> Self {
        Self {
            current: Magazine::new(),
            other: Magazine::new(),
        }
    }

    #[inline]
    fn take(&self) -> Option<*mut Free> {
        self.current.pop().or_else(|| self.take_cold())
    }

    #[cold]
    fn take_cold(&self) -> Option<*mut Free> {
        if self.other.count.get() > 0 {
            self.current.first.swap(&self.other.first);
            self.current.count.swap(&self.other.count);
        } else {
            let full = DEPOT.take()?;
            self.current.first.set(full);
            self.current.count.set(MAGAZINE);
        }
        self.current.pop()
    }

    /// # Safety
    /// 1. As for [`Magazine::push`].
    #[inline]
    unsafe fn give(&self, block: *mut Free) {
        if self.current.count.get() == MAGAZINE {
            self.make_room();
        }
        // SAFETY: obligation 1 is forwarded to our caller.
        unsafe { self.current.push(block) };
    }

    /// Empties the magazine in use, which is full.
    #[cold]
    fn make_room(&self) {
        // It is empty or full: only full magazines come into it, and it is used when the other one is empty.
        if self.other.count.get() > 0 {
            DEPOT.give(self.other.take());
        }
        self.other.first.set(self.current.first.get());
        self.other.count.set(MAGAZINE);
        self.current.take();
    }
}

/// The full magazines that no thread has: at most 16 KiB of blocks.
struct Depot([AtomicPtr<Free>; 8]);

impl Depot {
    const fn new() -> Self {
        Self([const { AtomicPtr::new(ptr::null_mut()) }; 8])
    }

    /// Takes a full magazine.
    fn take(&self) -> Option<*mut Free> {
        self.0.iter().find_map(|place| {
            // Ordering: Relaxed, the exchange decides.
            if place.load(Ordering::Relaxed).is_null() {
                return None;
            }
            // Ordering: Acquire pairs with the Release of `give`, for the links between the blocks. What was done
            // with the blocks before comes before that, too.
            let full = place.swap(ptr::null_mut(), Ordering::Acquire);
            (!full.is_null()).then_some(full)
        })
    }

    /// Keeps the blocks of a full magazine, or frees them if there is no place.
    fn give(&self, full: *mut Free) {
        let is_kept = self.0.iter().any(|place| {
            // Ordering: Release, see `take`. Relaxed on failure: another magazine is there.
            place.load(Ordering::Relaxed).is_null()
                && place
                    .compare_exchange(ptr::null_mut(), full, Ordering::Release, Ordering::Relaxed)
                    .is_ok()
        });
        if !is_kept {
            free(full);
        }
    }
}

/// Frees the blocks of a full magazine, which are the caller's.
#[cold]
fn free(full: *mut Free) {
    let magazine = Magazine::new();
    magazine.first.set(full);
    magazine.count.set(MAGAZINE);
}

/// Whether values of this type are kept in blocks.
const fn fits<T>() -> bool {
    size_of::<T>() > 0 && size_of::<T>() <= SIZE && align_of::<T>() <= LAYOUT.align()
}

/// Moves a value into memory of its own, which [`take_out`] frees.
#[inline]
pub(super) fn put<T>(value: T) -> *mut T {
    if !fits::<T>() {
        return Box::into_raw(Box::new(value));
    }
    // No cache is left while the thread's variables are being dropped.
    let kept = CACHE.try_with(Cache::take).ok().flatten();
    let block: *mut T = kept.unwrap_or_else(allocate).cast();
    // SAFETY: the block is ours, and the value fits.
    unsafe { block.write(value) };
    block
}

#[cold]
fn allocate() -> *mut Free {
    // SAFETY: the size is not zero.
    let block = unsafe { alloc(LAYOUT) };
    if block.is_null() {
        handle_alloc_error(LAYOUT);
    }
    block.cast()
}

/// Moves the value out again, and frees its memory.
///
/// # Safety
/// 1. The pointer comes from [`put`] for this type, and this is its only use from now on.
#[inline]
pub(super) unsafe fn take_out<T>(pointer: *mut T) -> T {
    if !fits::<T>() {
        // SAFETY: by obligation 1 it comes from a box, which is taken back once.
        return *unsafe { Box::from_raw(pointer) };
    }
    // SAFETY: by obligation 1 the value is there, and is taken once.
    let value = unsafe { pointer.read() };
    let block: *mut Free = pointer.cast();
    // SAFETY: 1. by obligation 1 the block is from `put`, and holds no value any more.
    let is_kept = CACHE.try_with(|cache| unsafe { cache.give(block) }).is_ok();
    if !is_kept {
        // SAFETY: as above; `put` allocated it with this layout, now or before.
        unsafe { dealloc(block.cast(), LAYOUT) };
    }
    value
}
