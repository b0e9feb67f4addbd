//! The state of an operation, which outlives its handle until the system has finished.

use std::{
    mem,
    sync::{
        Arc, Mutex, MutexGuard, TryLockError,
        atomic::{AtomicUsize, Ordering},
    },
    task::Waker,
};

use pool_std::driver::{Pool, Process};

mod waiting;

#[cfg(test)]
mod tests;

use crate::{backend::WeakBackend, call::Call, request::Request, system::lock};
use waiting::Waiter;

/// The maximum number of times that an operation is tried again if the kernel cancels it although
/// the caller has not.
///
/// The first time, the cause may be that the thread that submitted the operation has ended. Then
/// the completer submits it, and does not end before the operation does. So from then on, the cause
/// is that the kernel could not start a thread for the operation. The kernel tries several times,
/// but fails whenever a signal arrives. A process that receives many signals needs more tries.
const TRIES: u32 = 16;

/// A descriptor is noisy after this many waits in which it was ready and the transfer failed
/// anyway.
const MANY_WAITS: u32 = 16;

/// The state of an operation.
///
/// It is in an [`Arc`], and the backend has a reference to it from the start until the operation
/// has finished. So the request, with its buffer, its path and its file, stays in place while the
/// system uses it, whatever happens to the handle.
pub(crate) struct Operation {
    /// `None` if there is no backend, so that the operation has failed from the start.
    backend: Option<WeakBackend>,
    /// The number of the ring that has the operation, plus 1.
    ring: AtomicUsize,
    /// The process that has started the operation. In a child, no thread concludes it.
    process: Process,
    state: Mutex<State>,
}

struct State {
    request: Request,
    /// The number of bytes that have been transferred.
    progress: usize,
    /// Whether the next call waits until a transfer does not block.
    is_polling: bool,
    /// The number of such waits that have ended.
    waits: u32,
    /// Whether a ring has paused before the next wait, because the descriptor is noisy.
    has_paused: bool,
    is_cancelled: bool,
    /// The number of times that the kernel has cancelled the operation although the caller has not.
    kernel_cancels: u32,
    /// Set once.
    result: Option<Result<usize, i32>>,
    /// Whether the handle has returned the result.
    is_taken: bool,
    waiter: Waiter,
}

/// What a backend has to do with an operation whose call has returned.
#[must_use]
pub(crate) enum Next {
    /// Nothing: it has finished.
    Finished,
    /// Wake a task. The waker is code of the user, which may block.
    Wake(Waker),
    /// Submit the operation again.
    Again,
}

impl Operation {
    pub(super) fn new(backend: Option<WeakBackend>, request: Request) -> Arc<Self> {
        Arc::new(Self {
            backend,
            ring: AtomicUsize::new(0),
            process: Process::current(),
            state: Mutex::new(State {
                request,
                progress: 0,
                is_polling: false,
                waits: 0,
                has_paused: false,
                is_cancelled: false,
                kernel_cancels: 0,
                result: None,
                is_taken: false,
                waiter: Waiter::None,
            }),
        })
    }

    /// Finishes an operation that has no backend, because it could not be started.
    pub(super) fn fail(&self, error: i32) {
        lock(&self.state).set_result(Err(error));
    }

    /// Reads the data that is already in memory. Returns whether the operation has finished with
    /// that.
    pub(super) fn try_at_once(&self) -> bool {
        let mut state = lock(&self.state);
        if !state.request.may_be_cached() {
            return false;
        }
        loop {
            let progress = state.progress;
            let Ok(call) = state.request.call(progress) else {
                return false;
            };
            // SAFETY: 1. the request is borrowed under the lock; no backend has the operation yet.
            match unsafe { call.execute_at_once() } {
                // Linux 5.9 and 5.10 may return this before the end. The call that may wait does
                // not.
                Ok(0) if progress == 0 && !state.request.is_at_end() => return false,
                // This is the end of the file, or the rest is not in memory: the next iteration
                // finds out.
                Ok(bytes) => {
                    state.progress += bytes;
                    if bytes == 0 || state.request.is_complete(state.progress) {
                        let progress = state.progress;
                        state.set_result(Ok(progress));
                        return true;
                    }
                }
                Err(libc::EINTR) => {}
                // Whatever the error is, the call that may wait returns it, too.
                Err(_) => return false,
            }
        }
    }

    /// Transfers the bytes that a stream accepts or has at once. Otherwise makes the operation
    /// begin with a wait until the transfer would not block. Returns whether the operation has
    /// finished: an operation that fails, such as a read from a pipe's write end, might never end
    /// such a wait.
    pub(super) fn try_stream_or_poll(&self) -> bool {
        let mut state = lock(&self.state);
        if !state.request.is_of_stream() || state.request.is_empty() {
            return false;
        }
        let Ok(call) = state.request.call(0) else {
            return false;
        };
        // SAFETY: 1. the request is borrowed under the lock; no backend has the operation yet.
        match unsafe { call.execute_at_once() } {
            Err(libc::EAGAIN | libc::EINTR) => {
                state.is_polling = true;
                false
            }
            // The system cannot tell.
            Err(libc::EOPNOTSUPP | libc::ENOSYS) if state.request.is_permitted() => {
                state.is_polling = true;
                false
            }
            Err(libc::EOPNOTSUPP | libc::ENOSYS) => {
                state.set_result(Err(libc::EBADF));
                true
            }
            result => {
                state.set_result(result);
                true
            }
        }
    }

    /// Sets the ring that has the operation from now on.
    pub(super) fn set_ring(&self, ring: usize) {
        // Ordering: Relaxed. A cancel that does not see this has set its mark under the lock,
        // before that ring requests the call.
        self.ring.store(ring + 1, Ordering::Relaxed);
    }

    pub(super) fn ring(&self) -> Option<usize> {
        // Ordering: Relaxed, see `set_ring`.
        self.ring.load(Ordering::Relaxed).checked_sub(1)
    }

    pub(super) fn is_polling(&self) -> bool {
        lock(&self.state).is_polling
    }

    /// Returns the next call. The addresses in it are valid until the operation is
    /// [concluded](Self::conclude).
    ///
    /// # Errors
    /// The error number with which the operation is to be concluded.
    pub(super) fn call(&self) -> Result<Call, i32> {
        let mut state = lock(&self.state);
        if state.is_cancelled {
            return Err(libc::ECANCELED);
        }
        let is_noisy = state.waits > MANY_WAITS && !state.has_paused;
        match state.request.poll(is_noisy).filter(|_| state.is_polling) {
            Some(call) => Ok(call),
            None => {
                let progress = state.progress;
                state.request.call(progress)
            }
        }
    }

    /// Reports the result of a call that a thread of the backend has made. Such a thread is not
    /// cancelled, and does not end in the middle. So `ECANCELED` and `EFAULT` are errors of the
    /// file, for example of a timer whose clock was set.
    pub(super) fn conclude_own_call(&self, result: Result<usize, i32>) -> Next {
        if let Err(error @ (libc::ECANCELED | libc::EFAULT)) = result {
            let mut state = lock(&self.state);
            return state.fail(error);
        }
        self.conclude(result)
    }

    /// Reports the result of the call. Called by the backend that has the operation.
    pub(super) fn conclude(&self, result: Result<usize, i32>) -> Next {
        let mut state = lock(&self.state);
        let error = match result {
            Ok(_) if state.is_polling && !state.is_cancelled => {
                state.is_polling = false;
                state.waits = state.waits.saturating_add(1);
                state.has_paused = false;
                return Next::Again;
            }
            // The pause of a ring has ended. Now it waits: the descriptor may be silent.
            Err(libc::ETIME) if state.is_polling && !state.is_cancelled => {
                state.has_paused = true;
                return Next::Again;
            }
            Ok(_) | Err(libc::ETIME) if state.is_polling => {
                return state.finish(Err(libc::ECANCELED));
            }
            Ok(value) => {
                state.request.keep(value);
                let value = state.progress + value;
                return state.finish(Ok(value));
            }
            Err(error) if state.is_cancelled => error,
            // A signal has interrupted the call, which the caller did not request.
            Err(libc::EINTR) => return Next::Again,
            // The caller did not request this either: the thread that started the call has ended,
            // or the kernel has no thread for the call. A read that waits for a page fails with
            // `EFAULT` if the thread has ended when the page comes.
            Err(libc::ECANCELED | libc::EFAULT) if state.kernel_cancels < TRIES => {
                state.kernel_cancels += 1;
                return Next::Again;
            }
            // The descriptor is nonblocking. A descriptor that is not a stream is always ready, so
            // a wait would not help.
            Err(libc::EAGAIN) if state.request.is_of_stream() => {
                state.is_polling = true;
                return Next::Again;
            }
            // Another process has a lease on the file, and has some time to give it up.
            Err(libc::EAGAIN) if state.request.wait_to_open() => return Next::Again,
            Err(error) => error,
        };
        let error = match error {
            libc::EINTR | libc::EAGAIN | libc::EFAULT if state.is_cancelled => libc::ECANCELED,
            // The error is the same as when a thread of the process cannot be started.
            libc::ECANCELED if !state.is_cancelled => libc::EAGAIN,
            error => error,
        };
        state.fail(error)
    }

    /// Finishes an operation that the backend will no longer carry out.
    pub(super) fn abandon(&self) -> Next {
        lock(&self.state).is_cancelled = true;
        self.conclude(Err(libc::ECANCELED))
    }

    pub(super) fn cancel(self: &Arc<Self>) {
        let Some(mut state) = self.lock_for_handle() else {
            return;
        };
        if state.result.is_some() || mem::replace(&mut state.is_cancelled, true) {
            return;
        }
        drop(state);
        if let Some(backend) = &self.backend {
            backend.cancel(self);
        }
    }

    pub(super) fn is_finished(&self) -> bool {
        let state = self.lock_for_handle();
        state.is_none_or(|state| state.result.is_some())
    }

    /// Takes the request and its result, if the operation has finished. Succeeds only once.
    pub(super) fn take(&self) -> Option<(Request, Result<usize, i32>)> {
        let nothing = Request::Invalid {
            error: libc::EINVAL,
            buffer: Vec::new(),
        };
        let Some(mut state) = self.lock_for_handle() else {
            return Some((nothing, Err(libc::ECANCELED)));
        };
        let result = state.result?;
        if mem::replace(&mut state.is_taken, true) {
            return None;
        }
        Some((mem::replace(&mut state.request, nothing), result))
    }

    /// Locks the state, for the owner of the handle.
    ///
    /// In a child of the process that has started the operation, the operation is cancelled here if
    /// it has not finished: the threads that would finish it are in the parent, and the system uses
    /// the memory of the parent. If one of those threads was changing the state at the fork, the
    /// state stays locked forever, and this returns `None`.
    fn lock_for_handle(&self) -> Option<MutexGuard<'_, State>> {
        if self.process == Process::current() {
            return Some(lock(&self.state));
        }
        let mut state = match self.state.try_lock() {
            Ok(state) => state,
            Err(TryLockError::Poisoned(error)) => error.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        state.result = state.result.or(Some(Err(libc::ECANCELED)));
        Some(state)
    }
}

/// Takes the next step of a concluded operation, on a thread that is not a worker. Returns whether
/// the operation has to be submitted again.
pub(super) fn follow(pool: Pool<'_>, next: Next) -> bool {
    match next {
        Next::Finished => false,
        Next::Again => true,
        Next::Wake(waker) => {
            pool.run_and_handle_panic("a waker", || waker.wake());
            false
        }
    }
}

impl State {
    /// Sets the result. Releases the file first: the handle may be kept for a long time, and its
    /// owner may wait until the other end of a pipe or a socket is closed.
    fn set_result(&mut self, result: Result<usize, i32>) {
        self.request.release_file();
        self.result = Some(result);
    }

    /// Finishes with an error. The bytes that were transferred before it count: the caller finds
    /// the error again if it continues.
    fn fail(&mut self, error: i32) -> Next {
        self.finish(match self.progress {
            0 => Err(error),
            bytes => Ok(bytes),
        })
    }

    fn finish(&mut self, result: Result<usize, i32>) -> Next {
        debug_assert!(self.result.is_none(), "an operation finishes once");
        self.set_result(result);
        match mem::replace(&mut self.waiter, Waiter::None) {
            Waiter::None => {}
            Waiter::Thread(signal) => signal.set(),
            Waiter::Task(waker) => return Next::Wake(waker),
        }
        Next::Finished
    }
}
