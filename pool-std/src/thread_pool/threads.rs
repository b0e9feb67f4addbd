//! The threads of a pool that still run, and waiting until they have stopped.

use std::{
    cell::Cell,
    mem, ptr,
    sync::{
        PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread::{self, JoinHandle},
};

use pool_core::{Latch as _, SpinLatch};

use crate::{
    blocking::handlers::ThreadHandlers,
    fork,
    platform::{Registry, Std, WorkerThread},
    sync::{Condvar, Mutex, lock},
};

mod handles;
#[cfg(test)]
mod tests;
mod timed;

thread_local! {
    /// The number of the pool for which this thread runs, so that the pool's end waits for it. 0
    /// for none.
    static OWN_POOL: Cell<usize> = const { Cell::new(0) };
}

/// Whether this thread is one of the pool's own: a worker's, a spare, or one of a driver. Also in
/// its handlers, and in its destructors if the pool has started it.
pub(crate) fn belongs_to(registry: &Registry) -> bool {
    registry.data().threads.have_this_one()
}

/// Makes this thread one of a pool's own until the value is dropped.
pub(crate) struct Belonging(usize);

impl Belonging {
    pub(crate) fn begin(threads: &Threads) -> Self {
        Self(OWN_POOL.replace(threads.pool.0))
    }

    /// Makes this thread one of a pool's own until it ends.
    pub(crate) fn begin_for_good(threads: &Threads) {
        OWN_POOL.set(threads.pool.0);
    }
}

impl Drop for Belonging {
    fn drop(&mut self) {
        OWN_POOL.set(self.0);
    }
}

/// The number of a pool, not 0. Its address would not do: the destructors of a thread may run when
/// the thread's pool is gone, and another pool may be there by then.
struct PoolNumber(usize);

impl Default for PoolNumber {
    fn default() -> Self {
        static LAST: AtomicUsize = AtomicUsize::new(0);

        // Ordering: Relaxed; only the numbers matter.
        Self(LAST.fetch_add(1, Ordering::Relaxed).wrapping_add(1).max(1))
    }
}

/// The threads of a pool that still run.
#[derive(Default)]
pub(crate) struct Threads {
    pool: PoolNumber,
    running: Mutex<Running>,
    all_stopped: Condvar,
    /// The handles of the threads that the pool has started itself.
    handles: Mutex<Vec<JoinHandle<()>>>,
}

/// How many threads a pool has, and the workers that wait for them to stop.
#[derive(Default)]
struct Running {
    threads: usize,
    waiting: Vec<FrameLatch>,
    /// Whether the end of the pool counts as one of them.
    counts_end: bool,
    /// Whether the build has returned a pool.
    is_built: bool,
    /// The number of a thread that was dropped unrun during the build.
    dropped: Option<usize>,
    /// Whether the pool is never freed, because its adopted thread has ended.
    is_abandoned: bool,
    /// How many system threads are being joined, by all who wait for the end of the pool.
    joining: usize,
    /// How many threads wait for the end of the pool, and then of its system threads. The owner of
    /// the pool counts as one from the beginning, because it may do so at any time.
    waiters: usize,
}

impl Running {
    /// Whether the handles of the threads are kept although no thread will join them.
    fn keeps_handles_in_vain(&self) -> bool {
        self.is_abandoned && self.threads == 0 && self.waiters == 0
    }
}

/// A latch in the frame of a worker that waits.
pub(super) struct FrameLatch(*const SpinLatch<'static, Std>);

// SAFETY: latches are set by any thread, and this is the one that may set it.
unsafe impl Send for FrameLatch {}

impl FrameLatch {
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

impl Threads {
    /// Counts the calling thread as a thread of the pool until the value is dropped. A thread that
    /// starts another one holds this value, so that the new handle is stored before the threads
    /// that wait for the pool take the handles.
    pub(crate) fn count_starting(&self) -> Starting<'_> {
        self.count_thread();
        Starting(self)
    }

    /// Counts the end of the pool as one more thread, until [`note_end`](Self::note_end). So a
    /// thread that waits for the pool's threads also waits until the drivers have been notified, as
    /// long as an adopted thread is needed, which may be the only worker, and until another thread
    /// has started the lazy threads.
    pub(super) fn count_end(&self) {
        let mut running = lock(&self.running);
        debug_assert!(!running.counts_end, "a pool is built once");
        running.threads += 1;
        running.counts_end = true;
    }

    /// Notes that the pool has no reference any more, and that all have been told.
    pub(crate) fn note_end(&self) {
        let counts_end = mem::take(&mut lock(&self.running).counts_end);
        if counts_end {
            self.thread_has_stopped();
        }
    }

    /// Whether no thread has been started that has not ended.
    pub(crate) fn are_none(&self) -> bool {
        let running = lock(&self.running);
        running.threads == usize::from(running.counts_end)
    }

    /// Whether this thread is one of the pool's own.
    fn have_this_one(&self) -> bool {
        OWN_POOL.get() == self.pool.0
    }

    pub(crate) fn count_thread(&self) {
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

    /// Forgets that a thread was dropped unrun, which will be started again.
    pub(crate) fn forget_dropped(&self) {
        lock(&self.running).dropped = None;
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
        let waiting = mem::take(&mut running.waiting);
        let keeps_handles_in_vain = running.keeps_handles_in_vain();
        drop(running);
        self.all_stopped.notify_all();
        if keeps_handles_in_vain {
            self.forget_handles();
        }
        for latch in waiting {
            // SAFETY: 1. it was taken out of the only list, and its frame waits.
            unsafe { latch.set() };
        }
    }

    /// Notes that the pool is never freed. Then the system would keep the stack of each thread for
    /// which a handle is kept, so these are dropped when the last thread stops, or now.
    ///
    /// If a [`PoolHandle`](crate::PoolHandle) begins to wait after the pool's owner has gone and
    /// its last thread has stopped, it learns that the threads have stopped, but not whether they
    /// have run their destructors.
    pub(crate) fn abandon(&self) {
        self.change_running(|running| running.is_abandoned = true);
    }

    pub(super) fn add_waiter(&self) {
        self.change_running(|running| running.waiters += 1);
    }

    pub(super) fn remove_waiter(&self) {
        self.change_running(|running| running.waiters -= 1);
    }

    fn change_running(&self, change: impl FnOnce(&mut Running)) {
        let mut running = lock(&self.running);
        change(&mut running);
        let keeps_handles_in_vain = running.keeps_handles_in_vain();
        drop(running);
        if keeps_handles_in_vain {
            self.forget_handles();
        }
    }

    fn forget_handles(&self) {
        let handles = mem::take(&mut *lock(&self.handles));
        drop(handles);
    }

    /// Counts this thread as one that waits, until the value is dropped.
    fn count_waiting(&self) -> CountedWaiter<'_> {
        self.add_waiter();
        CountedWaiter(self)
    }

    /// Waits until every thread of the pool has stopped, and until the system threads that we
    /// started have ended. A worker of another pool runs jobs meanwhile.
    pub(crate) fn wait_until_stopped(&self, handlers: &ThreadHandlers) {
        let _waiter = self.count_waiting();
        // SAFETY: 1. this thread stays the worker until the call returns.
        match unsafe { WorkerThread::current() } {
            Some(worker) => {
                self.work_until_stopped(worker);
                self.join_threads(Some(worker));
            }
            None => handlers.around_wait(|| {
                // Liveness: each thread that was started notifies when it stops, which it does once
                // the pool has no reference left, and so does the end of the pool. A
                // `ThreadBuilder` that is dropped unrun counts as stopped.
                let running = lock(&self.running);
                let running = self
                    .all_stopped
                    .wait_while(running, |running| running.threads > 0);
                drop(running.unwrap_or_else(PoisonError::into_inner));
                self.join_threads(None);
            }),
        }
    }

    /// Waits until the system threads that we started have ended, all of which have stopped.
    fn join_threads(&self, worker: Option<&WorkerThread>) {
        let Some(worker) = worker else {
            while !self.try_join_all_with(|thread| {
                // Its panics were handled on the thread.
                _ = thread.join();
                Ok(())
            }) {
                // Liveness: each thread that has taken handles notifies when it has joined one, or
                // has given it back.
                let running = lock(&self.running);
                let running = self
                    .all_stopped
                    .wait_while(running, |running| running.joining > 0);
                drop(running.unwrap_or_else(PoisonError::into_inner));
            }
            return;
        };
        // A job that this worker has run may have forked, and has returned in the child: the
        // threads are not there, nor may this thread run what others have queued.
        fork::abort_if_forked(worker.registry());
        // A worker of a seeded pool would run jobs at a time that no schedule knows.
        let turns = worker.registry().data().turns.as_ref();
        turns.inspect(|membership| membership.turns.hold_until(|| self.try_join_all()));
        // Liveness: each thread ends after its destructors. They may need this worker, which runs
        // jobs meanwhile. These may wait for the same pool.
        while !self.try_join_all() {
            work_or_yield(worker);
            fork::abort_if_forked(worker.registry());
        }
    }

    fn work_until_stopped(&self, worker: &WorkerThread) {
        // Liveness: as for a thread that is not a worker.
        let latch = SpinLatch::cross(worker);
        let mut running = lock(&self.running);
        if running.threads > 0 {
            running.waiting.push(FrameLatch::new(&latch));
            drop(running);
            // The latch stays in this frame, which a panic cannot leave: the waits let none
            // through.
            if ptr::eq(&raw const worker.registry().data().threads, self) {
                // This thread is adopted and in no job. It may be the only worker.
                worker.wait_for_all_jobs(latch.core());
            } else {
                worker.wait_for_outside(latch.core());
            }
        }
    }
}

/// A thread that waits for the end of a pool.
struct CountedWaiter<'d>(&'d Threads);

impl Drop for CountedWaiter<'_> {
    fn drop(&mut self) {
        self.0.remove_waiter();
    }
}

/// A thread that starts another one, and counts as a thread of the pool meanwhile.
pub(crate) struct Starting<'d>(&'d Threads);

impl Drop for Starting<'_> {
    fn drop(&mut self) {
        self.0.thread_has_stopped();
    }
}

/// Runs one job of the worker's pool, or yields the processor.
fn work_or_yield(worker: &WorkerThread) {
    if !worker.help() {
        thread::yield_now();
    }
}
