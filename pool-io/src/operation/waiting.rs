//! Waiting for an operation: in a job, on another thread, or as a future.

use std::{cell::Cell, mem, task::Waker};

use pool_std::driver::{self, Signal};

use crate::operation::Operation;

/// The maximum number of nested waits of a worker if the size of its stack is unknown: in each
/// wait, the worker may run a job that waits in turn, on the same stack.
const NESTED_WAITS: usize = 16;

thread_local! {
    /// The number of waits of this thread in which it runs other jobs.
    static WAITS: Cell<usize> = const { Cell::new(0) };
}

/// What waits for an operation.
pub(super) enum Waiter {
    None,
    /// A thread, whose wait the signal ends.
    Thread(Signal),
    /// A future.
    Task(Waker),
}

impl Operation {
    /// Waits until the operation has finished: a worker runs other jobs meanwhile, or sleeps.
    ///
    /// Only for the owner of the handle, which sets no task meanwhile.
    pub(crate) fn wait(&self) {
        let depth = WAITS.get();
        if !may_nest(depth) {
            return self.wait_blocking();
        }
        // This comes first, because the drop of an earlier waker is code of the user and may
        // unwind.
        if !self.clear_task() {
            return;
        }
        WAITS.set(depth + 1);
        // Liveness: the backend concludes every operation, and that sets the signal. If the
        // operation has finished already, the signal is dropped at once. There is no earlier waiter
        // whose drop could unwind.
        driver::wait(|signal| _ = self.set_waiter(Waiter::Thread(signal)));
        WAITS.set(depth);
    }

    /// Waits until the operation has finished, and blocks the thread.
    ///
    /// Only for the owner of the handle, which sets no task meanwhile.
    pub(crate) fn wait_blocking(&self) {
        // As in `wait`.
        if self.clear_task() {
            // Liveness: as in `wait`. The completer or a helper concludes the operation, so no
            // worker is needed.
            driver::wait_blocking(|signal| _ = self.set_waiter(Waiter::Thread(signal)));
        }
    }

    /// Sets the task to wake. Returns false if the operation has finished.
    pub(crate) fn set_task(&self, waker: &Waker) -> bool {
        self.set_waiter(Waiter::Task(waker.clone()))
    }

    /// Removes a task whose handle is gone or now waits. Returns false if the operation has
    /// finished.
    pub(crate) fn clear_task(&self) -> bool {
        self.set_waiter(Waiter::None)
    }

    fn set_waiter(&self, mut waiter: Waiter) -> bool {
        let Some(mut state) = self.lock_for_handle() else {
            return false;
        };
        if state.result.is_some() {
            return false;
        }
        mem::swap(&mut state.waiter, &mut waiter);
        drop(state);
        // This is not under the lock, because the drop of an earlier waker is code of the user.
        drop(waiter);
        true
    }
}

/// Whether a worker may run other jobs in a wait. Otherwise it blocks, while other workers may run
/// its jobs.
fn may_nest(depth: usize) -> bool {
    depth == 0 || driver::is_half_of_stack_free().unwrap_or(depth < NESTED_WAITS)
}
