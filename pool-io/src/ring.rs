//! One ring of the kernel: submissions, completions, and the hint pipe of the worker that sleeps in
//! it.

use std::{
    io,
    mem::ManuallyDrop,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use io_uring::{IoUring, Probe, opcode, types::CancelBuilder};
use pool_std::driver::Process;

use crate::{
    operation::Operation,
    reap_lock::ReapLock,
    system::{EventCounter, lock},
};

mod entry;
pub(crate) mod hint;
pub(crate) mod parker;
mod reap;
pub(crate) mod rings;
mod submission;
#[cfg(test)]
mod tests;
use entry::{cancel, entry};
use hint::HintPipe;
pub(crate) use reap::Completed;
use submission::{Submission, is_for_good};

/// The value for an entry whose completion is ignored. Operations have their address instead, which
/// is even.
const IGNORED: u64 = 1;

/// Returns the value for a read of the hint pipe. The numbers of reads start at 1.
const fn hint_data(number: u64) -> u64 {
    number * 2 + 1
}

/// How many entries the completion queue holds before the kernel keeps further ones in a list.
const COMPLETIONS: u32 = 1024;

/// Makes the kernel put completions into the queue, or wait for some.
const GETEVENTS: u32 = io_uring::EnterFlags::GETEVENTS.bits();

/// One ring of the kernel.
///
/// Completions are taken by the thread that holds [`reaping`](Self::reaping); submissions are made
/// under a mutex, so that any thread may cancel.
pub(crate) struct Ring {
    /// Dropped only in the process that has created it.
    ring: ManuallyDrop<IoUring>,
    process: Process,
    reaping: ReapLock,
    /// The entries that the kernel has not taken yet. Locked around each use of the kernel's queue.
    submission: Mutex<Submission>,
    /// Whether the kernel has refused a submission that the completer has to repeat.
    is_refused: AtomicBool,
    /// The number of operations that were given to the ring and have not returned.
    in_flight: AtomicUsize,
    hint: HintPipe,
    /// The number of submissions to refuse in a test.
    #[cfg(test)]
    refusals: AtomicUsize,
    /// The error of these refusals.
    #[cfg(test)]
    refusal: std::sync::atomic::AtomicI32,
    /// The number of cancels that do not find their operations in a test.
    #[cfg(test)]
    vain_cancels: AtomicUsize,
}

impl Ring {
    /// Creates a ring that increases `event` for completions.
    ///
    /// # Errors
    /// If the kernel has no rings, is too old, or refuses one.
    pub(super) fn new(entries: u32, event: &EventCounter) -> io::Result<Self> {
        let ring = IoUring::builder()
            .dontfork()
            .setup_cqsize(COMPLETIONS.max(entries * 2))
            .build(entries)?;
        let parameters = ring.params();
        if !(parameters.is_feature_nodrop()
            && parameters.is_feature_rw_cur_pos()
            && parameters.is_feature_fast_poll())
        {
            return Err(io::Error::from_raw_os_error(libc::ENOSYS));
        }
        ring.submitter().register_eventfd(event.raw())?;
        let hint = HintPipe::new()?;
        Ok(Self {
            ring: ManuallyDrop::new(ring),
            process: Process::current(),
            reaping: ReapLock::new(),
            submission: Mutex::default(),
            is_refused: AtomicBool::new(false),
            in_flight: AtomicUsize::new(0),
            hint,
            #[cfg(test)]
            refusals: AtomicUsize::new(0),
            #[cfg(test)]
            refusal: libc::EAGAIN.into(),
            #[cfg(test)]
            vain_cancels: AtomicUsize::new(0),
        })
    }

    /// Checks that the kernel supports every operation that this module requests.
    ///
    /// # Errors
    /// If the kernel does not, or refuses to report it.
    pub(super) fn check_operations(&self) -> io::Result<()> {
        let mut probe = Probe::new();
        self.ring.submitter().register_probe(&mut probe)?;
        let needed = [
            opcode::OpenAt::CODE,
            opcode::Read::CODE,
            opcode::Write::CODE,
            opcode::Fsync::CODE,
            opcode::PollAdd::CODE,
            opcode::Timeout::CODE,
            // Not used. It is from Linux 6.1. From then on there is a barrier between a completion
            // and the kernel's look at whether to announce it, on which a reap relies. Before 5.19,
            // a cancel of everything, or one without a completion of its own, does nothing.
            opcode::SendMsgZc::CODE,
        ];
        if !needed.into_iter().all(|code| probe.is_supported(code)) {
            return Err(io::Error::from_raw_os_error(libc::ENOSYS));
        }
        // A filter may have allowed all calls up to here.
        match self.enter() {
            Err(error) if error.raw_os_error().is_some_and(is_for_good) => Err(error),
            _ => Ok(()),
        }
    }

    /// Makes the kernel put the completions into the queue that it has kept outside the queue.
    fn enter(&self) -> io::Result<usize> {
        // SAFETY: the call takes numbers only, and no argument.
        unsafe {
            let submitter = self.ring.submitter();
            submitter.enter::<libc::sigset_t>(0, 0, GETEVENTS, None)
        }
    }

    /// Gives an operation to the kernel. If the kernel cannot take it now, the ring keeps it until
    /// a [repetition](Self::repeat). Returns an operation that must be concluded at once, with its
    /// error.
    pub(super) fn submit(&self, operation: Arc<Operation>) -> Option<Completed> {
        let mut submission = lock(&self.submission);
        // This is under the lock: a cancel has come before and is seen here, or it comes later and
        // finds the entry.
        let call = submission.error().map_or_else(|| operation.call(), Err);
        let call = match call {
            Ok(call) => call,
            Err(error) => {
                return Some(Completed {
                    operation,
                    result: Err(error),
                });
            }
        };
        // Ordering: Relaxed; a plain count. The end of the pool comes after every submission.
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        let address = Arc::into_raw(operation).expose_provenance() as u64;
        submission.push(entry(call).user_data(address));
        self.flush(&mut submission);
        None
    }

    /// Whether this process has created the ring. A child does not have the memory of the ring, and
    /// may have the number of its parent, in another namespace.
    fn is_here(&self) -> bool {
        self.process == Process::current()
    }

    /// Asks the kernel to end an operation early, or all of them. Does nothing in a child of the
    /// process.
    pub(super) fn cancel(&self, operation: Option<&Arc<Operation>>) {
        let which = match operation {
            Some(operation) => CancelBuilder::user_data(Arc::as_ptr(operation).addr() as u64),
            None => CancelBuilder::any(),
        };
        if !self.is_here() {
            return;
        }
        #[cfg(test)]
        if take_one(&self.vain_cancels) {
            return;
        }
        let mut submission = lock(&self.submission);
        submission.push(cancel(which));
        self.flush(&mut submission);
    }

    /// Repeats a submission that the kernel has refused. Returns whether no entry is left.
    pub(super) fn repeat(&self) -> bool {
        // Ordering: Relaxed; the entries are read under the lock.
        !self.is_refused.load(Ordering::Relaxed) || self.flush(&mut lock(&self.submission))
    }

    /// Whether the kernel has refused a submission that must be [repeated](Self::repeat).
    pub(super) fn is_refused(&self) -> bool {
        // Ordering: Relaxed, a hint for the thread that has just submitted.
        self.is_refused.load(Ordering::Relaxed)
    }

    /// Gives the waiting entries to the kernel. Returns whether no entry is left: the kernel has
    /// taken all of them, or has refused them permanently. Then [`collect`](Self::collect) finds
    /// them.
    fn flush(&self, submission: &mut Submission) -> bool {
        while submission.error().is_none() {
            // SAFETY: the caller has locked `submission`, so this is the only such value.
            let mut queue = unsafe { self.ring.submission_shared() };
            submission.set_queued(queue.len());
            // SAFETY: what the entry refers to lives until it is completed: an operation by its
            // reference, which the address stands for, the buffer of the hint with the ring, and
            // the length of a pause as a static.
            submission.queue(|entry| unsafe { queue.push(entry) }.is_ok());
            if !submission.is_waiting() && queue.is_empty() {
                self.is_refused.store(false, Ordering::Relaxed);
                return true;
            }
            drop(queue);
            let error = match self.enter_to_submit() {
                Ok(1..) => continue,
                Ok(0) => libc::EAGAIN,
                Err(error) => error.raw_os_error().unwrap_or(libc::EAGAIN),
            };
            if !is_for_good(error) {
                self.is_refused.store(true, Ordering::Relaxed);
                return false;
            }
            submission.refuse_for_good(error);
        }
        if let Some(error) = submission.error() {
            // Entries may have arrived since.
            submission.refuse_for_good(error);
        }
        // Until it is collected. The thread that has submitted does that, or the completer.
        self.is_refused
            .store(submission.has_refused(), Ordering::Relaxed);
        true
    }

    fn enter_to_submit(&self) -> io::Result<usize> {
        #[cfg(test)]
        if take_one(&self.refusals) {
            let error = self.refusal.load(Ordering::Relaxed);
            return Err(io::Error::from_raw_os_error(error));
        }
        self.ring.submit()
    }

    /// Records that an operation has been concluded, and returns how many are left.
    pub(super) fn note_concluded(&self) -> usize {
        // Ordering: AcqRel: the completer ends when none is left, and that happens after all of
        // them.
        self.in_flight.fetch_sub(1, Ordering::AcqRel) - 1
    }

    pub(super) fn in_flight(&self) -> usize {
        // Ordering: Acquire pairs with `note_concluded`.
        self.in_flight.load(Ordering::Acquire)
    }

    /// Whether the kernel has refused a submission permanently, so that it is given no more
    /// entries.
    fn is_closed(&self) -> bool {
        lock(&self.submission).error().is_some()
    }

    /// Returns the pipe that wakes the worker which sleeps here.
    pub(super) fn hint_pipe(&self) -> &HintPipe {
        &self.hint
    }
}

/// Takes one of what is left.
#[cfg(test)]
fn take_one(left: &AtomicUsize) -> bool {
    let one_less = |left: usize| left.checked_sub(1);
    left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less)
        .is_ok()
}

impl Drop for Ring {
    fn drop(&mut self) {
        // In a child, other memory may be where the ring was, and a thread of the parent may hold
        // the lock. The copy is kept, as the child keeps all of a pool that it did not build.
        if self.is_here() {
            self.end_hints();
            // SAFETY: this is the only drop of it, and it is not used any more.
            unsafe { ManuallyDrop::drop(&mut self.ring) };
        }
    }
}
