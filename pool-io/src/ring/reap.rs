//! How completions are taken from a ring, and the sleep of the worker that waits for them.

use std::{
    io,
    ops::RangeInclusive,
    os::fd::AsRawFd,
    sync::{
        Arc,
        atomic::{Ordering, fence},
    },
};

use io_uring::{
    opcode,
    types::{CancelBuilder, Fd, SubmitArgs, Timespec},
};

use super::{
    GETEVENTS, IGNORED, Ring, entry::cancel, hint::NewRead, hint_data, submission::is_for_good,
};
use crate::{operation::Operation, system::lock};

/// A completion that was taken from a ring.
pub(crate) struct Completed {
    pub(crate) operation: Arc<Operation>,
    pub(crate) result: Result<usize, i32>,
}

/// How many milliseconds a worker sleeps at a time if the kernel has closed its ring.
const SLEEP_BESIDE: libc::c_int = 10;

/// Numbers with which the kernel records internally that a signal has interrupted a call, and how
/// to restart it. A system call does not return them, but an entry of a ring may: for example, an
/// `open` that waits in a kernel thread which ends.
const RESTARTS: RangeInclusive<i32> = 512..=516;

/// Returns the error number that a system call would return.
fn error_of(number: i32) -> i32 {
    if RESTARTS.contains(&number) {
        libc::EINTR
    } else {
        number
    }
}

/// A cancel does not find a read that the kernel is just beginning again, so it is repeated.
static CANCEL_AGAIN_AFTER: Timespec = Timespec::new().nsec(50_000_000);

/// Whether a wait has ended because its time is over, or by a signal.
fn is_temporary(error: &io::Error) -> bool {
    [Some(libc::ETIME), Some(libc::EINTR)].contains(&error.raw_os_error())
}

impl Ring {
    /// Calls a closure, and then takes the completions that are there, unless another thread is
    /// taking them; that thread then looks again. The kernel announces none of them to the
    /// completer.
    pub(super) fn reap_after(&self, closure: impl FnOnce(&Self)) -> Vec<Completed> {
        if !self.reaping.try_acquire() {
            closure(self);
            return Vec::new();
        }
        self.reap_unannounced(|| closure(self))
    }

    /// Calls a closure, then takes the completions that are there, and releases the lock. The
    /// kernel announces none of them to the completer. Only for the holder of the lock.
    fn reap_unannounced(&self, closure: impl FnOnce()) -> Vec<Completed> {
        let mut completed = Vec::new();
        // SAFETY: the caller holds the lock, so this is the only such value.
        unsafe { self.ring.completion_shared() }.disable_eventfd();
        closure();
        self.collect(&mut completed);
        // SAFETY: as above.
        unsafe { self.ring.completion_shared() }.enable_eventfd();
        // Ordering: pairs with the barrier of the kernel between a completion and its look at the
        // flag. Either it announces the completion, or we see it here. Nothing weaker orders our
        // store of the flag before our loads of the queue.
        fence(Ordering::SeqCst);
        loop {
            self.collect(&mut completed);
            if self.reaping.release() {
                return completed;
            }
        }
    }

    /// Takes the completions that are there. Only for the holder of the lock.
    fn collect(&self, completed: &mut Vec<Completed>) {
        loop {
            // SAFETY: the caller holds the lock, so this is the only such value.
            for completion in unsafe { self.ring.completion_shared() } {
                // SAFETY: 1. the kernel completes each entry once, and an entry that it has taken
                // is not refused.
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
            // The queue was full. A call makes the kernel put the completions there that it has
            // kept. An error comes from a signal, or from a kernel that refuses such calls
            // permanently and so keeps the rest.
            if self
                .enter()
                .is_err_and(|error| error.raw_os_error().is_some_and(is_for_good))
            {
                return;
            }
        }
    }

    /// Takes back the operation of an entry, or records the end of a read of hints.
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

    /// Waits for any completion, if `may_wait` returns true at the last moment, and takes the
    /// completions that are there.
    ///
    /// `may_wait` is called at a time from which on a hint is sure to end the wait. Only for the
    /// worker that has the ring.
    pub(super) fn sleep(&self, may_wait: impl FnOnce() -> bool) -> Vec<Completed> {
        if !self.reaping.try_acquire() {
            // The completer holds the lock for a moment: it calls no code of the user, and waits
            // for nothing.
            std::thread::yield_now();
            return Vec::new();
        }
        self.reap_unannounced(|| self.wait_for_any(may_wait))
    }

    /// Waits for any completion, as [`sleep`](Self::sleep) says. Only for the holder of the lock.
    fn wait_for_any(&self, may_wait: impl FnOnce() -> bool) {
        let is_listening = self.listen();
        if self.is_closed() {
            // Liveness: the hint that ends the wait is in the pipe, or arrives there. A read of the
            // pipe that the kernel already had may take the hint out, so the worker looks again
            // from time to time.
            let time = if may_wait() { SLEEP_BESIDE } else { 0 };
            self.hint.wait_without_ring(time);
        } else if !is_listening {
            // The kernel takes no entry now. The protocol looks again, and calls this function
            // again.
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
            // The token, and a hint with it, came before the wait. The call makes the kernel
            // complete the read.
            let _ = self.enter();
        }
    }

    /// Ensures that a read of the hint pipe by this thread is in flight. Only for the holder of the
    /// lock.
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

    /// Waits for the reads that the kernel has in flight, because they refer to the buffer of the
    /// hints.
    pub(super) fn end_hints(&mut self) {
        let mut completed = Vec::new();
        self.collect(&mut completed);
        let patience = SubmitArgs::new().timespec(&CANCEL_AGAIN_AFTER);
        while self.hint.is_in_flight() {
            self.cancel(None);
            let wait = || self.ring.submitter().submit_with_args(1, &patience);
            // A closed ring must not submit the entries in its queue, so this ends here.
            if self.is_closed() || wait().is_err_and(|error| !is_temporary(&error)) {
                // The kernel may still write there.
                self.hint.leak();
                return;
            }
            self.collect(&mut completed);
        }
        debug_assert!(completed.is_empty(), "the completer waits for operations");
    }
}
