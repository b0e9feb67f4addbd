//! The handlers that the program has given to a pool.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::{
    blocking::handlers::ThreadHandlers,
    log,
    panics::{AbortOnUnwind, Panic, abort_with, drop_quietly},
};

/// Called with the payload of a panic for which no caller waits.
pub(crate) type PanicHandler = dyn Fn(Panic) + Send + Sync;
/// Called with the number of a worker.
pub(crate) type WorkerHandler = dyn Fn(usize) + Send + Sync;

/// What a pool calls when its threads start and end, when they stop and start being runnable, and
/// for panics.
#[derive(Default)]
pub(crate) struct Handlers {
    pub(super) start: Option<Box<WorkerHandler>>,
    pub(super) exit: Option<Box<WorkerHandler>>,
    pub(super) panic: Option<Box<PanicHandler>>,
    pub(crate) runnable: ThreadHandlers,
}

impl Handlers {
    /// Calls the start handler, on the thread with this number.
    pub(crate) fn call_start(&self, index: usize) {
        self.run_and_handle_panic("the start handler", || {
            log::thread_begins(index);
            if let Some(handler) = &self.start {
                handler(index);
            }
        });
    }

    /// Calls the exit handler, on the thread with this number.
    pub(crate) fn call_exit(&self, index: usize) {
        self.run_and_handle_panic("the exit handler", || {
            log::thread_ends(index);
            if let Some(handler) = &self.exit {
                handler(index);
            }
        });
    }

    /// Runs a closure for which no caller waits. A panic goes where
    /// [`handle_panic`](Self::handle_panic) says.
    #[inline]
    pub(crate) fn run_and_handle_panic(&self, what: &'static str, closure: impl FnOnce()) {
        self.handle_panic(what, catch_unwind(AssertUnwindSafe(closure)));
    }

    /// Gives the panic of a closure for which no caller waits to the handler. Without a handler, or
    /// if the handler panics too, the process aborts: a panic must not vanish. The message names
    /// the closure as `what`.
    ///
    /// Never unwinds, because other threads use the frames that call this.
    #[inline]
    pub(crate) fn handle_panic(&self, what: &'static str, result: Result<(), Panic>) {
        if let Err(panic) = result {
            self.call_panic_handler(what, panic);
        }
    }

    #[cold]
    fn call_panic_handler(&self, what: &'static str, panic: Panic) {
        let no_way_out = AbortOnUnwind("pool-std: the panic handler panicked; aborting");
        log::panicked(what, &*panic);
        match &self.panic {
            Some(handler) => handler(panic),
            None => abort_with(&format!(
                "pool-std: a panic in {what} has no handler; aborting"
            )),
        }
        std::mem::forget(no_way_out);
    }
}

/// The last reference to a pool may be dropped anywhere, also by a worker of another pool in a
/// frame that others use. What the handlers have captured must not unwind from there.
impl Drop for Handlers {
    fn drop(&mut self) {
        drop_quietly(self.start.take());
        drop_quietly(self.exit.take());
        drop_quietly(self.panic.take());
    }
}
