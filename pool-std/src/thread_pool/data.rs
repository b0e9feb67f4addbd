//! What a pool keeps beside its workers: handlers, and the threads that still run.

use std::{
    io::{self, Write},
    panic::{AssertUnwindSafe, catch_unwind},
    process,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
};

use pool_core::{Latch as _, SpinLatch};

use crate::{
    blocking::{deadlock::Reporting, handlers::ThreadHandlers, sections::Sections},
    driver::Drivers,
    platform::{Std, WorkerThread},
    thread_pool::{active::ActiveWorkers, guests::Guests, idle::Idle, spares::Spares},
};

#[cfg(test)]
mod tests;
pub(super) mod timed;

/// What a pool keeps beside its workers.
#[derive(Default)]
pub(crate) struct PoolData {
    pub(crate) start_handler: Option<Box<WorkerHandler>>,
    pub(crate) exit_handler: Option<Box<WorkerHandler>>,
    pub(crate) panic_handler: Option<Box<PanicHandler>>,
    pub(crate) thread_handlers: ThreadHandlers,
    /// What workers say about their blocked sections.
    pub(crate) sections: Sections,
    pub(crate) reporting: Reporting,
    /// Held while a broadcast is queued, see `Registry::inject_broadcast`.
    pub(crate) broadcasting: Mutex<()>,
    /// Workers that fall asleep are to execute a process fence.
    pub(crate) overlooks_no_jobs: bool,
    pub(crate) guests: Guests,
    /// If there are several workers, which sleep in futexes.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub(crate) crowd: Option<std::sync::Arc<crate::thread_pool::crowd::Crowd>>,
    pub(crate) active: ActiveWorkers,
    pub(crate) spares: Spares,
    pub(crate) idle: Idle,
    pub(crate) drivers: Drivers,
    running: Mutex<Running>,
    all_stopped: Condvar,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// The threads of a pool, and the workers of other pools that wait for them to stop.
#[derive(Default)]
struct Running {
    threads: usize,
    waiting: Vec<StopLatch>,
    /// Whether the build has returned a pool.
    is_built: bool,
    /// The number of a thread that was dropped unrun during the build.
    dropped: Option<usize>,
}

/// A latch in the frame of a worker that waits.
pub(super) struct StopLatch(*const SpinLatch<'static, Std>);

// SAFETY: latches are set by any thread, and this is the one that may set it.
unsafe impl Send for StopLatch {}

impl StopLatch {
    pub(super) fn new(latch: &SpinLatch<'_, Std>) -> Self {
        Self(std::ptr::from_ref(latch).cast())
    }

    /// Sets the latch.
    ///
    /// # Safety
    /// 1. The frame that holds the latch waits for this call, the only one.
    pub(super) unsafe fn set(self) {
        // SAFETY: 1. by obligation 1 it is alive; 2. it is the only call; 3. any thread may set
        // such a latch.
        unsafe { SpinLatch::set(self.0) };
    }
}

impl PoolData {
    /// Runs a closure for which no caller waits. Its panic goes to the handler. Without a handler,
    /// or if the handler panics too, the process aborts: a panic must not vanish. The message names
    /// the closure as `what`.
    ///
    /// Never unwinds, because other threads use the frames that call this.
    pub(crate) fn run_and_handle_panic(&self, what: &'static str, closure: impl FnOnce()) {
        let Err(panic) = catch_unwind(AssertUnwindSafe(closure)) else {
            return;
        };
        let no_way_out = AbortOnUnwind("pool-std: the panic handler panicked; aborting");
        match &self.panic_handler {
            Some(handler) => handler(panic),
            None => abort_with(&format!(
                "pool-std: a panic in {what} has no handler; aborting"
            )),
        }
        std::mem::forget(no_way_out);
    }

    /// Counts as a thread of the pool until the value is dropped. For one that starts another
    /// thread, so that its handle is kept before those that wait for the pool ask for the
    /// handles.
    pub(crate) fn count_starting(&self) -> Starting<'_> {
        self.thread_will_run();
        Starting(self)
    }

    pub(crate) fn keep_thread(&self, thread: JoinHandle<()>) {
        lock(&self.threads).push(thread);
    }

    pub(crate) fn thread_will_run(&self) {
        lock(&self.running).threads += 1;
    }

    /// Notes that the thread of a worker, or of a spare, was dropped without a run. Returns whether
    /// the build has returned, so that it cannot fail for that reason any more.
    pub(crate) fn thread_is_dropped(&self, index: usize) -> bool {
        let mut running = lock(&self.running);
        if !running.is_built {
            running.dropped.get_or_insert(index);
        }
        running.is_built
    }

    /// Ends the build.
    ///
    /// # Errors
    /// The number of a thread that was dropped unrun.
    pub(crate) fn finish_build(&self) -> Result<(), usize> {
        let mut running = lock(&self.running);
        running.is_built = running.dropped.is_none();
        running.dropped.map_or(Ok(()), Err)
    }

    pub(crate) fn thread_has_stopped(&self) {
        let mut running = lock(&self.running);
        running.threads -= 1;
        if running.threads > 0 {
            return;
        }
        let waiting = std::mem::take(&mut running.waiting);
        drop(running);
        self.all_stopped.notify_all();
        for latch in waiting {
            // SAFETY: 1. it was taken out of the only list, and its frame waits.
            unsafe { latch.set() };
        }
    }

    /// Waits until every thread of the pool has stopped, and until the system threads that we
    /// started have ended. A worker of another pool runs jobs meanwhile.
    pub(crate) fn wait_until_stopped(&self) {
        // SAFETY: 1. this thread stays the worker until the call returns.
        match unsafe { WorkerThread::current() } {
            Some(worker) => {
                self.work_until_stopped(worker);
                self.join_threads(Some(worker));
            }
            None => self.thread_handlers.around_wait(|| {
                // Liveness: each thread that was started notifies when it stops, which it does once
                // the pool has no reference left; a `ThreadBuilder` that is dropped
                // unrun counts as stopped.
                let running = lock(&self.running);
                let running = self
                    .all_stopped
                    .wait_while(running, |running| running.threads > 0);
                drop(running.unwrap_or_else(PoisonError::into_inner));
                self.join_threads(None);
            }),
        }
    }

    /// Waits until the system threads that we started have ended.
    fn join_threads(&self, worker: Option<&WorkerThread>) {
        // The lock is not held during the wait, because the thread that we wait for may need it.
        let threads = std::mem::take(&mut *lock(&self.threads));
        for thread in threads {
            // Liveness: the thread ends after its destructors, which may need this worker.
            while !thread.is_finished() && worker.is_some_and(work_or_yield) {}
            // Its panics were handled on the thread.
            let _ = thread.join();
        }
    }

    fn work_until_stopped(&self, worker: &WorkerThread) {
        // Liveness: as for a thread that is not a worker.
        let latch = SpinLatch::cross(worker);
        let mut running = lock(&self.running);
        if running.threads > 0 {
            running.waiting.push(StopLatch::new(&latch));
            drop(running);
            // The latch stays in this frame, which a panic cannot leave: `wait_until` lets none
            // through.
            worker.wait_for_outside(latch.core());
        }
    }
}

/// A thread that starts another one, and counts as a thread of the pool meanwhile.
pub(crate) struct Starting<'d>(&'d PoolData);

impl Drop for Starting<'_> {
    fn drop(&mut self) {
        self.0.thread_has_stopped();
    }
}

/// Runs one job of the worker's pool, or yields the processor. Returns true.
fn work_or_yield(worker: &WorkerThread) -> bool {
    if !worker.yield_now() {
        thread::yield_now();
    }
    true
}

/// The last reference to a pool may be dropped anywhere, also by a worker of another pool in a
/// frame that others use. What the handlers have captured must not unwind from there.
impl Drop for PoolData {
    fn drop(&mut self) {
        drop_quietly(self.start_handler.take());
        drop_quietly(self.exit_handler.take());
        drop_quietly(self.panic_handler.take());
    }
}

/// Drops a value, and what it panics with, which has been reported.
pub(crate) fn drop_quietly<T>(value: T) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(value))) {
        // Its drop could panic again.
        std::mem::forget(panic);
    }
}

/// Called with the payload of a panic for which no caller waits.
pub(crate) type PanicHandler = dyn Fn(Box<dyn std::any::Any + Send>) + Send + Sync;
/// Called with the number of a worker.
pub(crate) type WorkerHandler = dyn Fn(usize) + Send + Sync;

/// Ends the process with a message if it is dropped, as only an unwinding panic drops it.
pub(crate) struct AbortOnUnwind(pub(crate) &'static str);

impl Drop for AbortOnUnwind {
    fn drop(&mut self) {
        abort_with(self.0);
    }
}

/// Ends the process with a message.
pub(crate) fn abort_with(message: &str) -> ! {
    // A message that cannot be written must not stand in the way of the abort.
    let _ = writeln!(io::stderr(), "{message}");
    process::abort();
}

/// Locks a mutex of this crate, which a panic never leaves half-changed.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
