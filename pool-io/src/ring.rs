//! One ring of the kernel: submissions, completions, and the hint pipe of the worker that sleeps in
//! it.

use std::{
    io,
    mem::ManuallyDrop,
    ops::RangeInclusive,
    os::fd::AsRawFd,
    process,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering, fence},
    },
};

use io_uring::{
    IoUring, Probe, opcode,
    types::{CancelBuilder, Fd},
};

use crate::{
    operation::Operation,
    reap_lock::ReapLock,
    system::{EventCounter, lock},
};

mod entry;
pub(crate) mod hint;
pub(crate) mod parker;
pub(crate) mod rings;
mod submission;
#[cfg(test)]
mod tests;
use entry::{cancel, entry};
use hint::{HintPipe, NewRead};
use submission::{Submission, is_for_good};

/// What stands in the place of an operation's address, which is even, for an entry whose completion
/// means nothing.
const IGNORED: u64 = 1;

/// What stands there for a read of the hint pipe. Numbers begin with 1.
const fn hint_data(number: u64) -> u64 {
    number * 2 + 1
}

/// How many entries the completion queue holds before the kernel keeps further ones in a list.
const COMPLETIONS: u32 = 1024;

/// For how many milliseconds a worker sleeps beside a ring that the kernel has closed to it.
const SLEEP_BESIDE: libc::c_int = 10;

/// Numbers by which the kernel tells itself that a signal has interrupted a call, and how to begin
/// it again. A system call does not return them, but an entry of a ring may: an `open` that waits
/// in a thread of the kernel, which ends.
const RESTARTS: RangeInclusive<i32> = 512..=516;

/// Returns the error number that a system call would return.
fn error_of(number: i32) -> i32 {
    if RESTARTS.contains(&number) {
        libc::EINTR
    } else {
        number
    }
}

/// Lets the kernel put completions into the queue, or wait for some.
const GETEVENTS: u32 = io_uring::EnterFlags::GETEVENTS.bits();

/// One ring of the kernel.
///
/// Completions are taken by the thread that holds [`reaping`](Self::reaping); submissions are made
/// under a mutex, so that any thread may cancel.
pub(crate) struct Ring {
    /// Dropped only in the process that has created it.
    ring: ManuallyDrop<IoUring>,
    process: u32,
    reaping: ReapLock,
    /// Entries that the kernel has not taken yet. Locked around each use of its queue.
    submission: Mutex<Submission>,
    /// Whether the kernel has refused a submission, which the completer is to repeat.
    is_refused: AtomicBool,
    /// How many operations were given to the ring and have not come back.
    in_flight: AtomicUsize,
    hint: HintPipe,
    /// How many submissions are refused for a test.
    #[cfg(test)]
    refusals: AtomicUsize,
    /// With which error.
    #[cfg(test)]
    refusal: std::sync::atomic::AtomicI32,
}

/// A completion that was taken from a ring.
pub(crate) struct Completed {
    pub(crate) operation: Arc<Operation>,
    pub(crate) result: Result<usize, i32>,
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
            process: process::id(),
            reaping: ReapLock::new(),
            submission: Mutex::default(),
            is_refused: AtomicBool::new(false),
            in_flight: AtomicUsize::new(0),
            hint,
            #[cfg(test)]
            refusals: AtomicUsize::new(0),
            #[cfg(test)]
            refusal: libc::EAGAIN.into(),
        })
    }

    /// Checks that the kernel can carry out everything that the module asks for.
    ///
    /// # Errors
    /// If it cannot, or refuses to say so.
    pub(super) fn check_operations(&self) -> io::Result<()> {
        let mut probe = Probe::new();
        self.ring.submitter().register_probe(&mut probe)?;
        let needed = [
            opcode::OpenAt::CODE,
            opcode::Read::CODE,
            opcode::Write::CODE,
            opcode::Fsync::CODE,
            opcode::PollAdd::CODE,
            // Of Linux 5.19, as the cancelling of everything that is in flight. Before, a cancel
            // that asks for that, or for no completion of its own, does nothing.
            opcode::Socket::CODE,
        ];
        if !needed.into_iter().all(|code| probe.is_supported(code)) {
            return Err(io::Error::from_raw_os_error(libc::ENOSYS));
        }
        // A filter may allow all that was called until now.
        match self.enter() {
            Err(error) if error.raw_os_error().is_some_and(is_for_good) => Err(error),
            _ => Ok(()),
        }
    }

    /// Lets the kernel put completions into the queue that it has kept beside it.
    fn enter(&self) -> io::Result<usize> {
        // SAFETY: the call takes numbers only, and no argument.
        unsafe {
            let submitter = self.ring.submitter();
            submitter.enter::<libc::sigset_t>(0, 0, GETEVENTS, None)
        }
    }

    /// Gives an operation to the kernel. If it cannot take it now, the ring keeps it until a
    /// [repetition](Self::repeat). Returns an operation that is to be concluded at once, with its
    /// error.
    pub(super) fn submit(&self, operation: Arc<Operation>) -> Option<Completed> {
        let mut submission = lock(&self.submission);
        // Under the lock: a cancel comes before it, and is seen here, or finds the entry.
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
        // Ordering: Relaxed, a plain count; the end of the pool comes after every submission.
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        let address = Arc::into_raw(operation).expose_provenance() as u64;
        submission.push(entry(call).user_data(address));
        self.flush(&mut submission);
        None
    }

    /// Whether this process has created the ring. A child of it does not have the memory of the
    /// ring.
    fn is_here(&self) -> bool {
        self.process == process::id()
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
        let mut submission = lock(&self.submission);
        submission.push(cancel(which));
        self.flush(&mut submission);
    }

    /// Repeats a submission that the kernel has refused. Returns whether nothing is left of it.
    pub(super) fn repeat(&self) -> bool {
        // Ordering: Relaxed; what is waiting is read under the lock.
        !self.is_refused.load(Ordering::Relaxed) || self.flush(&mut lock(&self.submission))
    }

    /// Whether the kernel has refused a submission, which is to be [repeated](Self::repeat).
    pub(super) fn is_refused(&self) -> bool {
        // Ordering: Relaxed, a hint for the thread that has just submitted.
        self.is_refused.load(Ordering::Relaxed)
    }

    /// Gives the kernel what is waiting. Returns whether nothing is left of it: the kernel has
    /// taken all of it, or has refused it for good. Then [`collect`](Self::collect) finds it.
    fn flush(&self, submission: &mut Submission) -> bool {
        while submission.error().is_none() {
            // SAFETY: the caller has locked `submission`, so this is the only such value.
            let mut queue = unsafe { self.ring.submission_shared() };
            submission.set_queued(queue.len());
            // SAFETY: what the entry refers to lives until it is completed: an operation by its
            // reference, which the address stands for, and the buffer of the hint with the ring.
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
            // What has come since.
            submission.refuse_for_good(error);
        }
        // Until it is collected. The thread that has submitted does that, or the completer.
        self.is_refused
            .store(submission.has_refused(), Ordering::Relaxed);
        true
    }

    fn enter_to_submit(&self) -> io::Result<usize> {
        #[cfg(test)]
        if self
            .refusals
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                left.checked_sub(1)
            })
            .is_ok()
        {
            let error = self.refusal.load(Ordering::Relaxed);
            return Err(io::Error::from_raw_os_error(error));
        }
        self.ring.submit()
    }

    /// Calls a closure, and takes the completions that there are then, unless another thread is
    /// taking them, which then looks again. The kernel announces none of them to the completer.
    pub(super) fn reap_after(&self, closure: impl FnOnce(&Self)) -> Vec<Completed> {
        let mut completed = Vec::new();
        if !self.reaping.try_acquire() {
            closure(self);
            return completed;
        }
        // SAFETY: this thread holds the lock, so this is the only such value.
        unsafe { self.ring.completion_shared() }.disable_eventfd();
        closure(self);
        self.collect(&mut completed);
        // SAFETY: as above.
        unsafe { self.ring.completion_shared() }.enable_eventfd();
        // Ordering: pairs with the barrier of the kernel between a completion and its look at the
        // flag. Either it announces the completion, or we see it here. Nothing weaker
        // orders our store of the flag before our loads of the queue.
        fence(Ordering::SeqCst);
        loop {
            self.collect(&mut completed);
            if self.reaping.release() {
                return completed;
            }
        }
    }

    /// Takes the completions that there are. Only for the holder of the lock.
    fn collect(&self, completed: &mut Vec<Completed>) {
        loop {
            // SAFETY: the caller holds the lock, so this is the only such value.
            for completion in unsafe { self.ring.completion_shared() } {
                // SAFETY: 1. the kernel completes each entry once, and what it has taken is not
                // refused.
                let operation =
                    unsafe { self.take_back(completion.user_data(), completion.result()) };
                completed.extend(operation);
            }
            let mut submission = lock(&self.submission);
            if let Some(error) = submission.error() {
                for data in submission.take_refused() {
                    // SAFETY: 1. the kernel has not taken the entry and is not asked to any more,
                    // so this is its only completion.
                    completed.extend(unsafe { self.take_back(data, -error) });
                }
            }
            // SAFETY: `submission` is locked, so this is the only such value.
            if !unsafe { self.ring.submission_shared() }.cq_overflow() {
                return;
            }
            drop(submission);
            // The queue was full. A call lets the kernel put there what it has kept. An error comes
            // from a signal, or from a kernel that refuses such calls for good: then it
            // keeps the rest.
            if self
                .enter()
                .is_err_and(|error| error.raw_os_error().is_some_and(is_for_good))
            {
                return;
            }
        }
    }

    /// Takes back what an entry stands for: an operation, or a read of hints, which is noted.
    ///
    /// # Safety
    /// 1. The entry was pushed, and this is the only call for it.
    unsafe fn take_back(&self, data: u64, result: i32) -> Option<Completed> {
        match data {
            IGNORED => None,
            hint if hint % 2 == 1 => {
                self.hint.has_come(hint / 2, result);
                None
            }
            address => {
                let address = std::ptr::with_exposed_provenance(address as usize);
                Some(Completed {
                    // SAFETY: the address stands for the reference that `submit` gave away; by
                    // obligation 1 it is taken once.
                    operation: unsafe { Arc::from_raw(address) },
                    result: usize::try_from(result).map_err(|_| error_of(-result)),
                })
            }
        }
    }

    /// Notes that an operation has been concluded, and returns how many are left.
    pub(super) fn has_concluded(&self) -> usize {
        // Ordering: AcqRel: the completer, which ends when none is left, is behind all of them.
        self.in_flight.fetch_sub(1, Ordering::AcqRel) - 1
    }

    pub(super) fn in_flight(&self) -> usize {
        // Ordering: Acquire pairs with `has_concluded`.
        self.in_flight.load(Ordering::Acquire)
    }

    /// Waits for any completion, if `may_wait` says so at the last moment, and takes those that
    /// there are.
    ///
    /// `may_wait` is called when a hint is sure to end the wait. Only for the worker whose ring it
    /// is.
    pub(super) fn sleep(&self, may_wait: impl FnOnce() -> bool) -> Vec<Completed> {
        let mut completed = Vec::new();
        if !self.reaping.try_acquire() {
            // The completer has it, for a moment; it calls no code of the user, and waits for
            // nothing.
            std::thread::yield_now();
            return completed;
        }
        // SAFETY: this thread holds the lock, so this is the only such value.
        unsafe { self.ring.completion_shared() }.disable_eventfd();
        let is_listening = self.listen();
        if self.is_closed() {
            // Liveness: what ends the wait is in the pipe, or comes there. A read of the pipe that
            // the kernel has had since before may take it out, so the worker looks again from time
            // to time.
            let time = if may_wait() { SLEEP_BESIDE } else { 0 };
            self.hint.wait_without_ring(time);
        } else if !is_listening {
            // The kernel takes no entry now. The protocol looks again, and comes back.
            std::thread::yield_now();
        } else if may_wait() {
            // Liveness: the read of the hint pipe is in flight, and completes when there is a hint.
            // No other thread takes completions from here on, so the call returns for this one, and
            // for that of any operation. Errors (a signal) mean that the protocol looks again.
            // SAFETY: the call takes numbers only, and no argument.
            let _ = unsafe {
                let submitter = self.ring.submitter();
                submitter.enter::<libc::sigset_t>(0, 1, GETEVENTS, None)
            };
        } else if self.hint.is_unread() {
            // The token has come before the wait, and a hint with it. The call lets the kernel
            // complete the read.
            let _ = self.enter();
        }
        self.collect(&mut completed);
        // SAFETY: as above.
        unsafe { self.ring.completion_shared() }.enable_eventfd();
        // Ordering: as in `reap_after`.
        fence(Ordering::SeqCst);
        loop {
            self.collect(&mut completed);
            if self.reaping.release() {
                return completed;
            }
        }
    }

    /// Sees to it that a read of the hint pipe by this thread is in flight. Only for the holder of
    /// the lock.
    fn listen(&self) -> bool {
        let mut submission = lock(&self.submission);
        if submission.error().is_some() {
            return false;
        }
        if let Some(NewRead { number, replaces }) = self.hint.begin() {
            if let Some(replaced) = replaces {
                submission.push(cancel(CancelBuilder::user_data(hint_data(replaced))));
            }
            let (address, length) = self.hint.buffer();
            let read = opcode::Read::new(Fd(self.hint.reader().as_raw_fd()), address, length);
            submission.push(read.build().user_data(hint_data(number)));
        }
        self.flush(&mut submission)
    }

    /// Whether the kernel has refused a submission for good, so that it is given no further one.
    fn is_closed(&self) -> bool {
        lock(&self.submission).error().is_some()
    }

    /// Returns the pipe that wakes the worker which sleeps here.
    pub(super) fn hint_pipe(&self) -> &HintPipe {
        &self.hint
    }

    /// What the kernel has in flight refers to the buffer of the hint, so the ring waits for it.
    fn end_hints(&mut self) {
        let mut completed = Vec::new();
        self.collect(&mut completed);
        while self.hint.is_in_flight() {
            self.cancel(None);
            // A ring that is closed must not be given the entries in its queue, so this ends here.
            if self.is_closed()
                || self
                    .ring
                    .submitter()
                    .submit_and_wait(1)
                    .is_err_and(|error| error.kind() != io::ErrorKind::Interrupted)
            {
                // The kernel may still write there.
                self.hint.leak();
                return;
            }
            self.collect(&mut completed);
        }
        debug_assert!(completed.is_empty(), "the completer waits for operations");
    }
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
