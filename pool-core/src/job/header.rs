//! How a job begins: with the word that says how to run it.

use core::{
    mem::{MaybeUninit, transmute},
    ptr,
};

use super::Job;
use crate::primitive::{AtomicPtr, Ordering, UnsafeCell};

#[cfg(test)]
mod tests;

/// The first field of every job: the function that runs it.
///
/// For most jobs it never changes. For the second half of a join it becomes the latch too, see
/// `AwaitableHeader`: so a queue needs one word for a job, and a join that nobody steals from writes
/// one word for function and latch together.
#[repr(transparent)]
pub struct JobHeader {
    word: AtomicPtr<()>,
}

/// A function that runs a job, see [`Job::execute`].
pub(super) type Execute = unsafe fn(*const ());

/// In place of the function: the job has been run.
const DONE: *mut () = ptr::null_mut();
/// In place of the function: the job's owner waits, see [`AwaitableHeader`].
///
/// No function is at the very end of memory. One may be at any low number: on wasm functions are
/// numbered from 1, and on Cortex-M one at address 0 is called by 1.
const AWAITED: *mut () = ptr::without_provenance_mut(usize::MAX);

impl JobHeader {
    const_unless_loom! {
        /// For a job of this type.
        #[inline]
        #[must_use]
        pub fn new<J: Job>() -> Self {
            Self { word: AtomicPtr::new(J::execute as *mut ()) }
        }
    }

    /// The function that runs the job.
    ///
    /// # Safety
    /// 1. `this` points to the header of a job that has not been run, and may be used for all of the
    ///    job.
    #[inline]
    pub(super) unsafe fn execute(this: *const Self) -> Execute {
        // SAFETY: by obligation 1 it is there.
        //
        // Ordering: Acquire pairs with `AwaitableHeader::set_awaited`, for what it wrote beside.
        let word = unsafe { &(*this).word }.load(Ordering::Acquire);
        if word == AWAITED {
            // SAFETY: only headers of this type are ever awaited, and before that the function was
            // put there, for good.
            return unsafe {
                let this = &*this.cast::<AwaitableHeader>();
                this.execute.with(|execute| (*execute).assume_init())
            };
        }
        // SAFETY: the job has not been run, so this is the function that `new` put there.
        unsafe { transmute::<*mut (), Execute>(word) }
    }
}

/// The header of a job whose owner waits for it only if somebody has taken it.
///
/// | word | meaning | who moves on |
/// | --- | --- | --- |
/// | the function | not run yet, and nobody waits | its owner to awaited; who has run it to done |
/// | awaited | not run yet; its owner waits on the latch beside | who has run it, to done |
/// | done | has been run | nobody |
///
/// That the owner of a job in a deque need not wait, it learns from the deque; so the latch that
/// waiting needs is made only when a thief has the job. The thief and the owner settle by an exchange
/// of the word whether there is a latch to set.
#[repr(C)]
pub(crate) struct AwaitableHeader {
    header: JobHeader,
    /// When awaited: the function.
    execute: UnsafeCell<MaybeUninit<Execute>>,
    /// When awaited: the latch.
    latch: UnsafeCell<MaybeUninit<*const ()>>,
}

impl AwaitableHeader {
    /// For a job of this type.
    #[inline]
    pub(crate) fn new<J: Job>() -> Self {
        Self {
            header: JobHeader::new::<J>(),
            execute: UnsafeCell::new(MaybeUninit::uninit()),
            latch: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// Whether the job has been run. What it wrote is visible then.
    #[inline]
    pub(crate) fn is_done(&self) -> bool {
        // Ordering: Acquire pairs with `set_done`.
        self.header.word.load(Ordering::Acquire) == DONE
    }

    /// Leaves a latch for whoever runs the job; false if it has been run already, and nobody will
    /// look at the latch.
    ///
    /// # Safety
    /// 1. This is called by the job's owner, and for each job once.
    pub(crate) unsafe fn set_awaited(&self, latch: *const ()) -> bool {
        // Ordering: Acquire pairs with `set_done`.
        let word = self.header.word.load(Ordering::Acquire);
        if word == DONE {
            return false;
        }
        // SAFETY: by obligation 1 the word is the function still, and nobody looks at the two cells
        // before it is `AWAITED`.
        unsafe {
            let execute = transmute::<*mut (), Execute>(word);
            self.execute
                .with_mut(|cell| *cell = MaybeUninit::new(execute));
            self.latch.with_mut(|cell| *cell = MaybeUninit::new(latch));
        }
        // Ordering: Release hands on the two cells, and the latch, to whoever runs the job
        // (`JobHeader::execute`, `set_done`); Acquire on failure pairs with `set_done`.
        self.header
            .word
            .compare_exchange(word, AWAITED, Ordering::Release, Ordering::Acquire)
            .is_ok()
    }

    /// The job has been run. If its owner waits, the latch that it has left: the job stays until that
    /// is set. Else the owner may go on at once, and end the frame that holds the job.
    ///
    /// # Safety
    /// 1. `this` points to the header of a job that has just been run, and what it leaves is written.
    /// 2. An owner that has left a latch keeps the job until the latch is set.
    pub(crate) unsafe fn set_done(this: *const Self) -> Option<*const ()> {
        // SAFETY: by obligation 1 the header is there until the word is `DONE` and nobody waits, and by
        // 2. until the latch is set. When awaited, the cell is filled.
        unsafe {
            // Ordering: Release hands the result to the owner, Acquire takes over the latch.
            let before = (*this).header.word.swap(DONE, Ordering::AcqRel);
            (before == AWAITED).then(|| (*this).latch.with(|latch| (*latch).assume_init()))
        }
    }
}
