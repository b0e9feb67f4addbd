//! Memory for spawned closures, without an allocator.

use core::{
    cell::UnsafeCell,
    fmt,
    mem::{ManuallyDrop, MaybeUninit, align_of, size_of},
    ptr::NonNull,
};

use pool_core::{Job, JobHeader, JobInjector, JobQueue, JobRef};

use crate::primitive::{AtomicBool, Ordering};

/// The number of words that a spawned closure may have.
///
/// The compiler rejects a closure that captures more: let it capture a reference, or an index into
/// an array.
pub const CLOSURE_WORDS: usize = 8;

/// Room for `SLOTS` spawned closures of up to [`CLOSURE_WORDS`] words each.
///
/// A closure occupies a cell from the moment when it is spawned until it begins to run. Any number
/// of scopes may use one arena at the same time.
///
/// # Examples
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
///
/// use pool_spin::{Arena, Cores, SpinPool, host::Host};
///
/// static POOL: SpinPool<Cores<Host, 2, 64>> = SpinPool::new();
/// static ARENA: Arena<256> = Arena::new();
///
/// let runs = AtomicUsize::new(0);
/// POOL.run_with(0, |core| {
///     core.scope_in(&ARENA, |scope| {
///         for _ in 0..256 {
///             scope.spawn(|_, _| {
///                 runs.fetch_add(1, Ordering::Relaxed);
///             });
///         }
///     });
/// })?;
/// assert_eq!(runs.into_inner(), 256);
/// # Ok::<(), pool_spin::RunError>(())
/// ```
pub struct Arena<const SLOTS: usize> {
    slots: [Slot; SLOTS],
}

impl<const SLOTS: usize> Arena<SLOTS> {
    /// Creates an empty arena.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            slots: [const { Slot::new() }; SLOTS],
        }
    }
}

impl<const SLOTS: usize> AsRef<[Slot]> for Arena<SLOTS> {
    fn as_ref(&self) -> &[Slot] {
        &self.slots
    }
}

impl<const SLOTS: usize> Default for Arena<SLOTS> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const SLOTS: usize> fmt::Debug for Arena<SLOTS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Ordering: Relaxed; debug output only.
        let taken = |slot: &&Slot| slot.is_taken.load(Ordering::Relaxed);
        f.debug_struct("Arena")
            .field("slots", &SLOTS)
            .field("taken", &self.slots.iter().filter(taken).count())
            .finish()
    }
}

/// What is spawned: a closure, and the pool or scope that counts it.
pub(crate) trait Spawned: Send {
    /// Runs the closure on a worker, and reports that it has run. Must not unwind.
    ///
    /// This takes a pointer: the references that a closure captures stay borrowed as long as a
    /// function runs that has the closure as an argument, and what they refer to may end as soon as
    /// the closure is reported.
    ///
    /// # Safety
    /// 1. `this` is valid, and is moved out by this call; it is not used or dropped otherwise.
    unsafe fn run(this: *const Self);
}

/// The queue's part of a job that is injected.
pub(crate) type JobNode = <JobInjector as JobQueue>::Node;

/// Room for one closure, its header and its link.
pub struct Slot {
    is_taken: AtomicBool,
    node: UnsafeCell<JobNode>,
    job: UnsafeCell<MaybeUninit<Room>>,
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slot").finish_non_exhaustive()
    }
}

/// The closure and three pointers: how to run it, the pool or scope that counts it, and the cell.
#[repr(C, align(8))]
struct Room([MaybeUninit<usize>; CLOSURE_WORDS + 3]);

// SAFETY: the content of a cell is `Send`, and one thread at a time uses it: the thread that took
// the cell, until the job runs; then the worker that runs the job, until it gives the cell back.
unsafe impl Sync for Slot {}
// SAFETY: as above.
unsafe impl Send for Slot {}

impl Slot {
    const fn new() -> Self {
        Self {
            is_taken: AtomicBool::new(false),
            node: UnsafeCell::new(JobNode::new(None)),
            job: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// Puts `spawned` into a free cell. Returns the job to queue and the queue's part of it, or
    /// `spawned` if no cell is free.
    ///
    /// Checks each cell at most once and does not wait, so interrupt handlers may call it.
    ///
    /// # Safety
    /// 1. The cells stay where they are until the job has run.
    /// 2. So does everything else that `spawned` uses.
    pub(crate) unsafe fn put<S: Spawned>(
        slots: &[Self],
        spawned: S,
    ) -> Result<(NonNull<JobNode>, JobRef), S> {
        const {
            assert!(
                size_of::<SlotJob<S>>() <= size_of::<Room>(),
                "the closure captures more than CLOSURE_WORDS words: let it capture a reference"
            );
            assert!(
                align_of::<SlotJob<S>>() <= align_of::<Room>(),
                "what the closure captures is aligned to more than 8 bytes: let it capture a reference"
            );
        }
        let Some(slot) = slots.iter().find(|slot| slot.take()) else {
            return Err(spawned);
        };
        let job = slot.job.get().cast::<SlotJob<S>>();
        // SAFETY: the cell has been ours since `take`, and it is large enough.
        unsafe { job.write(SlotJob::new(slot, spawned)) };
        let node = NonNull::new(slot.node.get()).expect("the address of a field is not null");
        // SAFETY: 1. By our own obligations. 2. `spawned` is `Send`.
        Ok((node, unsafe { JobRef::new(job) }))
    }

    /// Whether one of these cells is free. The answer may be out of date on return.
    pub(crate) fn any_is_free(slots: &[Self]) -> bool {
        // Ordering: Relaxed; `take` decides.
        slots
            .iter()
            .any(|slot| !slot.is_taken.load(Ordering::Relaxed))
    }

    fn take(&self) -> bool {
        // The plain load does not claim the cache line while the cell is taken.
        //
        // Ordering: Acquire pairs with `give_back`. Relaxed otherwise: nothing is read.
        !self.is_taken.load(Ordering::Relaxed)
            && self
                .is_taken
                .compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
    }

    fn give_back(&self) {
        // Ordering: Release pairs with `take`: the content of the cell has been moved out.
        self.is_taken.store(false, Ordering::Release);
    }
}

/// The content of a cell.
#[repr(C)]
struct SlotJob<S> {
    header: JobHeader,
    slot: *const Slot,
    spawned: S,
}

impl<S: Spawned> SlotJob<S> {
    fn new(slot: &Slot, spawned: S) -> Self {
        Self {
            header: JobHeader::new::<Self>(),
            slot,
            spawned,
        }
    }
}

// SAFETY: 1. The header is the first field; `new` makes it for this type.
unsafe impl<S: Spawned> Job for SlotJob<S> {
    unsafe fn execute(this: *const ()) {
        // SAFETY: by obligations 1 and 2, the job is valid and is moved out once.
        let Self { slot, spawned, .. } = unsafe { this.cast::<Self>().read() };
        let spawned = ManuallyDrop::new(spawned);
        // The cell is given back first, so that the closure may spawn into it.
        // SAFETY: the cell stays in place until the job is done, which it is only after `run`.
        unsafe { (*slot).give_back() };
        // SAFETY: 1. It is in this frame, and only this call uses it.
        unsafe { S::run(&raw const *spawned) };
    }
}
