//! Memory for spawned jobs, which threads keep for the next ones.
//!
//! One thread allocates a job and another one often frees it, which is the expensive case of most
//! allocators. Here, the thread that has run a job keeps the job's block for the next job that it
//! spawns. A thread that only runs jobs passes full magazines of blocks through the depot to the
//! threads that only spawn them.
//!
//! A thread touches none of the blocks that it keeps: it has a list of them. So the thread that
//! writes the next job into a block has to read nothing of it, and a block's cache line comes to
//! another processor once for each job.
//!
//! Source: J. Bonwick and J. Adams, *Magazines and Vmem* (2001).

use std::{
    array,
    cell::Cell,
    mem::{self, MaybeUninit},
};

use crate::sync::Mutex;

#[cfg(test)]
mod tests;

/// The size of a block in bytes. Larger jobs are in boxes of their own.
const SIZE: usize = 64;

/// Memory for a job.
#[repr(align(16))]
struct Block {
    _memory: MaybeUninit<[u8; SIZE]>,
}

/// The number of blocks that go to the depot and come from it together.
const MAGAZINE: usize = 32;

/// A full magazine: each place has a block.
type Magazine = [Option<Box<Block>>; MAGAZINE];

/// The number of magazines that the depot keeps at most, which is a mebibyte of blocks.
const MOST_MAGAZINES: usize = if cfg!(test) { 4 } else { 512 };

static DEPOT: Depot = Depot::new();

thread_local! {
    static CACHE: Cache = const { Cache::new() };
}

/// The blocks that a thread keeps, two magazines at most. It gives away one when it has two, and
/// takes one when it has none, so that a thread which spawns and runs jobs in turn does not go to
/// the depot each time.
struct Cache {
    blocks: [Cell<Option<Box<Block>>>; 2 * MAGAZINE],
    /// The number of places that have a block: the first ones.
    count: Cell<usize>,
}

impl Cache {
    const fn new() -> Self {
        Self {
            blocks: [const { Cell::new(None) }; 2 * MAGAZINE],
            count: Cell::new(0),
        }
    }

    /// Takes the block that came last.
    #[inline]
    fn take(&self) -> Option<Box<Block>> {
        match self.count.get().checked_sub(1) {
            Some(last) => {
                self.count.set(last);
                self.blocks[last].take()
            }
            None => self.take_cold(),
        }
    }

    #[cold]
    fn take_cold(&self) -> Option<Box<Block>> {
        // There is usually room. There may be none if taking the lock allocates and the allocator
        // runs jobs.
        for block in DEPOT.take()?.into_iter().flatten() {
            self.give(block);
        }
        self.take()
    }

    #[inline]
    fn give(&self, block: Box<Block>) {
        // More than once if the allocator itself runs jobs.
        while self.count.get() == self.blocks.len() {
            self.make_room();
        }
        self.push(block);
    }

    #[inline]
    fn push(&self, block: Box<Block>) {
        let count = self.count.get();
        // The place has none, so there is nothing to drop.
        mem::forget(self.blocks[count].replace(Some(block)));
        self.count.set(count + 1);
    }

    /// Gives away the blocks that came first, since this processor's cache has those that came
    /// last.
    #[cold]
    fn make_room(&self) {
        let (first, last) = self.blocks.split_at(MAGAZINE);
        let magazine = array::from_fn(|place| first[place].replace(last[place].take()));
        self.count.set(MAGAZINE);
        DEPOT.give(magazine);
    }
}

/// The full magazines that no thread has.
///
/// A thread never waits for it. While another thread uses it, blocks come from the allocator and go
/// back to it.
struct Depot(Mutex<Vec<Magazine>>);

impl Depot {
    const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    fn take(&self) -> Option<Magazine> {
        self.0.try_lock().ok()?.pop()
    }

    /// Keeps the blocks, or frees them if there is no place.
    fn give(&self, magazine: Magazine) {
        if let Ok(mut magazines) = self.0.try_lock()
            && magazines.len() < MOST_MAGAZINES
        {
            magazines.push(magazine);
        }
    }
}

/// Whether values of this type are kept in blocks.
const fn fits<T>() -> bool {
    size_of::<T>() > 0 && size_of::<T>() <= SIZE && align_of::<T>() <= align_of::<Block>()
}

/// Moves a value into memory of its own, which [`take_out`] frees.
#[inline]
pub(super) fn put<T>(value: T) -> *mut T {
    if !fits::<T>() {
        return Box::into_raw(Box::new(value));
    }
    let block: *mut T = Box::into_raw(take_block()).cast();
    // SAFETY: the block is ours, and the value fits.
    unsafe { block.write(value) };
    block
}

/// Takes one of the blocks that this thread keeps, or allocates one.
#[inline]
fn take_block() -> Box<Block> {
    // No cache is left while the thread's variables are being dropped.
    let kept = CACHE.try_with(Cache::take).ok().flatten();
    kept.unwrap_or_else(allocate)
}

/// Keeps a block for the next job of this thread.
#[inline]
fn give_block(block: Box<Block>) {
    // Without a cache, the closure is dropped and frees the block.
    _ = CACHE.try_with(|cache| cache.give(block));
}

#[cold]
fn allocate() -> Box<Block> {
    Box::new(Block {
        _memory: MaybeUninit::uninit(),
    })
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
    // SAFETY: by obligation 1 `put` made the pointer of a box, which holds no value any more and is
    // taken back once.
    give_block(unsafe { Box::<Block>::from_raw(pointer.cast()) });
    value
}
