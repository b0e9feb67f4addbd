//! Memory for spawned closures, without an allocator.

use core::{
    cell::UnsafeCell,
    fmt,
    mem::{MaybeUninit, align_of, size_of},
    ptr::NonNull,
};

use pool_core::{IntrusiveInjector, Job, JobHeader, JobQueue, JobRef};

use crate::primitive::{AtomicBool, Ordering};

/// How many words a spawned closure may have.
///
/// One that captures more is refused by the compiler: let it capture a reference, or an index into
/// an array.
pub const CLOSURE_WORDS: usize = 8;

/// Room for `SLOTS` spawned closures of up to [`CLOSURE_WORDS`] words each.
///
/// A closure has its place from being spawned until it begins to run. Any number of scopes may use
/// one arena at the same time.
pub struct Arena<const SLOTS: usize> {
    slots: [Slot; SLOTS],
}

impl<const SLOTS: usize> Arena<SLOTS> {
    /// An empty arena.
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
        // Ordering: Relaxed, for looking on.
        let taken = |slot: &&Slot| slot.is_taken.load(Ordering::Relaxed);
        f.debug_struct("Arena")
            .field("slots", &SLOTS)
            .field("taken", &self.slots.iter().filter(taken).count())
            .finish()
    }
}

/// What is spawned: a closure and whom to tell when it has been run.
pub(crate) trait Spawned: Send {
    /// Runs it, on a worker. Must not unwind.
    fn run(self);
}

/// The queue of jobs from outside a pool.
pub(crate) type JobInjector = IntrusiveInjector<'static, Option<JobRef>>;
/// The queue's part of a job that is injected.
pub(crate) type JobNode = <JobInjector as JobQueue>::Node;

/// Room for one closure, its header and its link.
pub struct Slot {
    is_taken: AtomicBool,
    node: UnsafeCell<JobNode>,
    job: UnsafeCell<MaybeUninit<Room>>,
}

/// The closure, and three pointers: how to run it, whom to tell, and the slot itself.
#[repr(C, align(8))]
struct Room([MaybeUninit<usize>; CLOSURE_WORDS + 3]);

// SAFETY: what is in a slot is `Send`, and used by one at a time: whoever took it, until the job
// runs; then whoever runs it, until it is given back.
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

    /// Puts something into a slot that is free. The job to queue and the queue's part of it; or
    /// what was given, if there is none.
    ///
    /// Looks at each slot once at most, and waits for nobody: for interrupt handlers too.
    ///
    /// # Safety
    /// 1. The slots stay where they are until the job has been run.
    /// 2. So does whatever else `spawned` uses.
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
        // SAFETY: the slot is ours since `take`, and large enough.
        unsafe { job.write(SlotJob::new(slot, spawned)) };
        let node = NonNull::new(slot.node.get()).expect("it is in the slot");
        // SAFETY: 1. by our own obligations; 2. what is spawned is `Send`.
        Ok((node, unsafe { JobRef::new(job) }))
    }

    fn take(&self) -> bool {
        // The plain load leaves the line alone while the slot is taken.
        //
        // Ordering: Acquire pairs with `give_back`. Relaxed otherwise: nothing was received.
        !self.is_taken.load(Ordering::Relaxed)
            && self
                .is_taken
                .compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
    }

    fn give_back(&self) {
        // Ordering: Release pairs with `take`: what was in the slot has been moved out.
        self.is_taken.store(false, Ordering::Release);
    }
}

/// What is in a slot.
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

// SAFETY: 1. the header comes first; `new` makes it for this type.
unsafe impl<S: Spawned> Job for SlotJob<S> {
    unsafe fn execute(this: *const ()) {
        // SAFETY: by obligations 1 and 2 it is valid, and moved out once.
        let Self { slot, spawned, .. } = unsafe { this.cast::<Self>().read() };
        // The slot first, so that what runs now may spawn into it.
        // SAFETY: the slot is there until the job is done, which it is only after `run`.
        unsafe { (*slot).give_back() };
        spawned.run();
    }
}
