//! How a job begins: with the word that says how to run it.

use core::{fmt, mem::MaybeUninit, ptr};

use super::{Job, runner::Runner};
use crate::primitive::{AtomicPtr, Ordering, UnsafeCell};

#[cfg(test)]
mod tests;

/// The first field of every job: how to run it.
///
/// For most jobs it never changes. For the second half of a join, it also becomes the latch, see
/// `AwaitableHeader`: so a queue needs one word for a job, and a join without a theft writes one
/// word for function and latch together.
///
/// # Examples
/// See [`Job`].
#[repr(transparent)]
pub struct JobHeader {
    word: AtomicPtr<()>,
}

impl fmt::Debug for JobHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobHeader").finish_non_exhaustive()
    }
}

/// Instead of the word of its type: the job has been run.
const DONE: *mut () = ptr::null_mut();
/// Instead of the word of its type: the job's owner waits, see [`AwaitableHeader`].
///
/// Neither a function nor a constant is at the very end of memory. A function may be at any low
/// number: on wasm functions are numbered from 1, and on Cortex-M one at address 0 is called by 1.
const AWAITED: *mut () = ptr::without_provenance_mut(usize::MAX);

impl JobHeader {
    const_unless_loom! {
        /// Creates the header of a job of this type.
        #[inline]
        #[must_use]
        pub fn new<J: Job>() -> Self {
            Self { word: AtomicPtr::new(Runner::word_of::<J, J>()) }
        }
    }

    /// Returns a function that creates the header of a job of this type, which has the name of the
    /// type `N` in traces.
    pub(crate) const fn maker<J: Job, N>() -> fn() -> Self {
        #[cfg(not(feature = "trace"))]
        {
            // The same one for all names.
            let _without_name = core::any::type_name::<N>;
            Self::new::<J>
        }
        #[cfg(feature = "trace")]
        {
            || Self {
                word: AtomicPtr::new(Runner::word_of::<J, N>()),
            }
        }
    }

    /// Returns how to run the job.
    ///
    /// # Safety
    /// 1. `this` points to the header of a job that has not been run, and may be used for all of
    ///    the job.
    #[inline]
    pub(super) unsafe fn runner(this: *const Self) -> Runner {
        // SAFETY: by obligation 1 it is there.
        //
        // Ordering: Acquire pairs with `AwaitableHeader::set_awaited`, for what it wrote beside.
        let word = unsafe { &(*this).word }.load(Ordering::Acquire);
        if word == AWAITED {
            // SAFETY: only headers of this type are ever awaited, and an owner that awaits has left
            // its address before that.
            return unsafe { (*AwaitableHeader::awaiting(this.cast())).runner };
        }
        // SAFETY: 1. the job has not been run, so this is the word that `new` put there.
        unsafe { Runner::from_word(word) }
    }
}

/// The header of a job whose owner waits for it only if a thief has taken it.
///
/// | word | meaning | the next word, and its writer |
/// | --- | --- | --- |
/// | its type | not run yet, and not awaited | awaited, by its owner; done, by its runner |
/// | awaited | not run yet; its owner waits | done, by the worker that ran it |
/// | done | has been run | none |
///
/// The owner of a job in a deque learns from the deque that it need not wait, so the latch that
/// waiting needs is made only when a thief has the job. An exchange of the word decides between the
/// thief and the owner whether there is a latch to set.
#[repr(C)]
pub(crate) struct AwaitableHeader {
    header: JobHeader,
    /// When awaited, what the owner has left. Until then a word for the owner alone.
    beside: UnsafeCell<Beside>,
}

#[derive(Clone, Copy)]
union Beside {
    note: usize,
    awaiting: *const Awaiting,
}

/// What an owner that waits leaves for the worker that runs the job. In the owner's frame.
pub(crate) struct Awaiting {
    /// From the header's word.
    runner: Runner,
    latch: *const (),
}

impl AwaitableHeader {
    /// Creates the header of a job of this type, with a word for its owner.
    #[inline(always)]
    pub(crate) fn new<J: Job>(note: usize) -> Self {
        Self {
            header: JobHeader::new::<J>(),
            beside: UnsafeCell::new(Beside { note }),
        }
    }

    /// Returns the owner's word.
    ///
    /// # Safety
    /// 1. This is called by the job's owner, and the job was not awaited.
    #[inline]
    pub(crate) unsafe fn note(&self) -> usize {
        // SAFETY: by obligation 1 it is that still, and no other thread writes it.
        self.beside.with(|beside| unsafe { (*beside).note })
    }

    /// Replaces the owner's word.
    ///
    /// # Safety
    /// 1. As for [`note`](Self::note).
    pub(crate) unsafe fn set_note(&self, note: usize) {
        // SAFETY: by obligation 1 no other thread reads it.
        self.beside
            .with_mut(|beside| unsafe { (*beside).note = note });
    }

    /// Replaces the owner's word, unless the job is awaited: then the owner does not ask for the
    /// word any more.
    ///
    /// # Safety
    /// 1. `this` points to the header of a job that has not been run, and is the caller's to run.
    /// 2. The caller is the job's owner.
    pub(crate) unsafe fn renote(this: *const Self, note: usize) {
        // SAFETY: by obligation 1 it is there.
        let this = unsafe { &*this };
        // Ordering: Relaxed. The job has not been run, so only its owner has written the word.
        if this.header.word.load(Ordering::Relaxed) != AWAITED {
            // SAFETY: 1. by obligation 2 and the look.
            unsafe { this.set_note(note) };
        }
    }

    /// Returns what the owner has left.
    ///
    /// # Safety
    /// 1. The job is awaited, which was acquired, and its owner waits still.
    unsafe fn awaiting(this: *const Self) -> *const Awaiting {
        // SAFETY: by obligation 1 the header is there, and no thread writes to it.
        unsafe { (*this).beside.with(|beside| (*beside).awaiting) }
    }

    /// Whether the job has been run. What it wrote is visible then.
    #[inline]
    pub(crate) fn is_done(&self) -> bool {
        // Ordering: Acquire pairs with `set_done`.
        self.header.word.load(Ordering::Acquire) == DONE
    }

    /// Leaves a latch for the worker that runs the job. Returns false if the job has been run
    /// already, and the latch will not be used. `room` is for what else is left.
    ///
    /// # Safety
    /// 1. This is called by the job's owner, and for each job once.
    /// 2. `room` stays untouched as long as a thread may use the latch.
    pub(crate) unsafe fn set_awaited(
        &self,
        latch: *const (),
        room: &mut MaybeUninit<Awaiting>,
    ) -> bool {
        // Ordering: Acquire pairs with `set_done`.
        let word = self.header.word.load(Ordering::Acquire);
        if word == DONE {
            return false;
        }
        // SAFETY: 1. by obligation 1 the word is the one that `new` put there.
        let runner = unsafe { Runner::from_word(word) };
        let awaiting: *const Awaiting = room.write(Awaiting { runner, latch });
        // SAFETY: no other thread reads it before the word is `AWAITED`.
        self.beside
            .with_mut(|beside| unsafe { (*beside).awaiting = awaiting });
        // Ordering: Release publishes what was left, the latch included, to the worker that runs
        // the job (`JobHeader::runner`, `set_done`); Acquire on failure pairs with
        // `set_done`.
        self.header
            .word
            .compare_exchange(word, AWAITED, Ordering::Release, Ordering::Acquire)
            .is_ok()
    }

    /// Marks the job as run. If its owner waits, returns the latch that the owner has left: the job
    /// stays until that is set. Otherwise the owner may go on at once, and end the frame that holds
    /// the job.
    ///
    /// # Safety
    /// 1. `this` points to the header of a job that has just been run, and what it leaves is
    ///    written.
    /// 2. An owner that has left a latch keeps the job, and what it has left, until the latch is
    ///    set.
    pub(crate) unsafe fn set_done(this: *const Self) -> Option<*const ()> {
        // SAFETY: by obligation 1 the header is there until the word is `DONE` and its owner does
        // not wait, and by
        // 2. until the latch is set.
        unsafe {
            // Ordering: Release hands the result to the owner, Acquire takes over the latch.
            let before = (*this).header.word.swap(DONE, Ordering::AcqRel);
            (before == AWAITED).then(|| (*Self::awaiting(this)).latch)
        }
    }
}
