//! What a pool keeps beside its workers: handlers, and who is still running.

use std::{
    io::{self, Write},
    panic::{AssertUnwindSafe, catch_unwind},
    process,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    thread::JoinHandle,
};

/// What a pool keeps beside its workers.
#[derive(Default)]
pub(crate) struct PoolData {
    pub(crate) start_handler: Option<Box<WorkerHandler>>,
    pub(crate) exit_handler: Option<Box<WorkerHandler>>,
    pub(crate) panic_handler: Option<Box<PanicHandler>>,
    /// Held while a broadcast is queued, see `Registry::inject_broadcast`.
    pub(crate) broadcasting: Mutex<()>,
    running: Mutex<usize>,
    all_stopped: Condvar,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl PoolData {
    /// Runs a closure that nobody waits for. Its panic goes to the handler; without one, or if
    /// the handler panics too, the process ends: a panic must not vanish.
    ///
    /// Never unwinds: it is called from frames that others use.
    pub(crate) fn run_and_handle_panic(&self, closure: impl FnOnce()) {
        let Err(panic) = catch_unwind(AssertUnwindSafe(closure)) else {
            return;
        };
        let no_way_out = AbortOnUnwind;
        match &self.panic_handler {
            Some(handler) => handler(panic),
            None => {
                // A message that cannot be written must not stand in the way of the abort.
                let message = "pool-std: a panic in a spawned job has no handler; aborting";
                let _ = writeln!(io::stderr(), "{message}");
                process::abort();
            }
        }
        std::mem::forget(no_way_out);
    }

    pub(crate) fn keep_thread(&self, thread: JoinHandle<()>) {
        lock(&self.threads).push(thread);
    }

    pub(crate) fn thread_will_run(&self) {
        *lock(&self.running) += 1;
    }

    pub(crate) fn thread_has_stopped(&self) {
        *lock(&self.running) -= 1;
        self.all_stopped.notify_all();
    }

    /// Waits until every thread of the pool has stopped, and its system thread has ended where we
    /// started it.
    pub(crate) fn wait_until_stopped(&self) {
        // Liveness: each thread that was started notifies when it stops, which it does once the
        // pool has no reference left; a `ThreadBuilder` that is dropped unrun counts as stopped.
        let running = lock(&self.running);
        drop(
            self.all_stopped
                .wait_while(running, |running| *running > 0)
                .unwrap_or_else(PoisonError::into_inner),
        );
        for thread in std::mem::take(&mut *lock(&self.threads)) {
            // Its panics were handled on the thread.
            let _ = thread.join();
        }
    }
}

/// Called with the payload of a panic that nobody waits for.
pub(crate) type PanicHandler = dyn Fn(Box<dyn std::any::Any + Send>) + Send + Sync;
/// Called with the number of a worker.
pub(crate) type WorkerHandler = dyn Fn(usize) + Send + Sync;

/// Ends the process if it is dropped, as only an unwinding panic drops it.
struct AbortOnUnwind;

impl Drop for AbortOnUnwind {
    fn drop(&mut self) {
        let message = "pool-std: the panic handler panicked; aborting";
        let _ = writeln!(io::stderr(), "{message}");
        process::abort();
    }
}

/// A mutex of ours is never left half-changed by a panic.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
