//! Waits for what happens outside the pool.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use pool_core::{BlockingLatch, CoreLatch, Isolation, Latch as _, SpinLatch};

use crate::{
    fork::{self, Process},
    platform::{Std, WorkerThread},
    thread_pool::current::keeping_own_pool,
};

/// Ends one [`wait`] when it is set or dropped.
///
/// If a signal is neither set nor dropped, because it was passed to [`std::mem::forget`], the
/// thread waits forever.
///
/// # Examples
/// ```
/// use pool_std::driver::{self, Signal};
///
/// driver::wait(|signal: Signal| {
///     std::thread::spawn(move || signal.set());
/// });
/// ```
#[must_use = "a signal that is dropped ends the wait"]
#[derive(Debug)]
pub struct Signal(Target);

/// A latch in the frame of the thread that waits.
#[derive(Debug)]
enum Target {
    Worker(*const SpinLatch<'static, Std>),
    Thread(*const BlockingLatch<Std>),
}

// SAFETY: any thread may set such a latch, and this is the only value that sets it.
unsafe impl Send for Signal {}
// SAFETY: a shared reference gives access to nothing.
unsafe impl Sync for Signal {}

impl Signal {
    /// Ends the wait. What this thread did before is visible to the waiting thread.
    ///
    /// Never blocks. Any thread may call this.
    ///
    /// # Examples
    /// ```
    /// pool_std::driver::wait(|signal| {
    ///     std::thread::spawn(move || {
    ///         let answer = 6 * 7;
    ///         println!("{answer} is there");
    ///         signal.set();
    ///     });
    /// });
    /// ```
    pub fn set(self) {
        drop(self);
    }
}

impl Drop for Signal {
    fn drop(&mut self) {
        match self.0 {
            // SAFETY: 1. its frame waits until it is set; 2. this is the only call, since the value
            // is dropped once;
            // 3. it is not a latch for jobs, and it keeps its pool alive.
            Target::Worker(latch) => unsafe { SpinLatch::set(latch) },
            // SAFETY: as above.
            Target::Thread(latch) => unsafe { BlockingLatch::set(latch) },
        }
    }
}

/// Waits until a signal is set. The closure `begin` receives the signal, and stores it where
/// another thread finds it. A worker runs other jobs meanwhile, and sleeps when there are none. Any
/// other thread blocks.
///
/// The jobs run on the caller's stack, and may wait in turn. The caller must limit how deeply such
/// waits are nested: see [`is_half_of_stack_free`](super::is_half_of_stack_free).
///
/// The deadlock detection treats the worker as active, because the event comes from outside the
/// pool.
///
/// # Panics
/// Resumes a panic of `begin` after the signal has been set.
///
/// # Examples
/// ```
/// let pool = pool_std::ThreadPoolBuilder::new().num_threads(1).build()?;
/// pool.install(|| {
///     pool_std::driver::wait(|signal| {
///         // The worker runs this job in the wait. Another thread could set the signal as well.
///         pool_std::spawn(|| signal.set());
///     });
/// });
/// # Ok::<(), pool_std::BuildError>(())
/// ```
pub fn wait(begin: impl FnOnce(Signal)) {
    wait_by(begin, |worker, latch| worker.wait_for_outside(latch));
}

/// Returns what this thread may run while it waits, if it is a worker. The answer can differ deeper
/// in the stack, so a wait that has other ways to run its job asks once, before them. Inlined, so
/// that no later question comes from less deep in the stack than this one.
#[inline(always)]
pub(crate) fn current_isolation() -> Isolation {
    // SAFETY: 1. the reference is used in this function.
    let worker = unsafe { WorkerThread::current() };
    worker.map_or(Isolation::Anything, |worker| worker.isolation())
}

/// Waits as [`wait`] does, for a job or a future. In isolation, the worker also runs what threads
/// outside spawn in the scopes that its job has opened, since that may be what it waits for.
///
/// `isolation` is the answer of [`current_isolation`].
pub(crate) fn wait_for_job(isolation: Isolation, begin: impl FnOnce(Signal)) {
    wait_by(begin, |worker, latch| {
        worker.wait_for_any_job(isolation, latch);
    });
}

/// Waits as [`wait_for_job`] does, for a job that one worker of the caller's own pool runs from
/// beginning to end before it sets the signal. For the deadlock detection, the caller counts as
/// asleep, because it waits forever if all other workers do.
pub(crate) fn wait_for_own_job(isolation: Isolation, begin: impl FnOnce(Signal)) {
    wait_by(begin, |worker, latch| {
        worker.wait_for_own_job(isolation, latch);
    });
}

fn wait_by(begin: impl FnOnce(Signal), wait: impl FnOnce(&WorkerThread, &CoreLatch)) {
    // SAFETY: 1. the reference is used in this call, and the thread stays the worker: `begin`
    // cannot end the worker of an adopted thread, since a frame keeps its pool.
    let Some(worker) = (unsafe { WorkerThread::current() }) else {
        return block(begin);
    };
    let latch = SpinLatch::cross(worker);
    let signal = Signal(Target::Worker((&raw const latch).cast()));
    let begun = keeping_own_pool(|| catch_unwind(AssertUnwindSafe(|| begin(signal))));
    // Liveness: the thread that sets or drops the signal ends this. The latch stays in this frame
    // until then: `begin` cannot unwind from it, and the wait lets no panic through.
    wait(worker, latch.core());
    if let Err(panic) = begun {
        resume_unwind(panic);
    }
}

/// Waits as [`wait`] does, but blocks the thread. A worker runs no other jobs meanwhile; the jobs
/// on its deque are left to the other workers.
///
/// # Panics
/// As [`wait`].
///
/// # Examples
/// ```
/// pool_std::driver::wait_blocking(|signal| {
///     std::thread::spawn(move || signal.set());
/// });
/// ```
pub fn wait_blocking(begin: impl FnOnce(Signal)) {
    // SAFETY: 1. the reference is used in this statement.
    if let Some(worker) = unsafe { WorkerThread::current() } {
        // It runs no other job meanwhile, and answers no thief.
        worker.notify_leftovers();
    }
    block(begin);
}

fn block(begin: impl FnOnce(Signal)) {
    fork::watch();
    let process = Process::current();
    let latch = BlockingLatch::new();
    let signal = Signal(Target::Thread(&raw const latch));
    let begun = catch_unwind(AssertUnwindSafe(|| begin(signal)));
    if !latch.probe() {
        process.abort_if_forked();
    }
    // Liveness: as in `wait`.
    latch.wait();
    if let Err(panic) = begun {
        resume_unwind(panic);
    }
}
