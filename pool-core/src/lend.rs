//! Lending a worker to another thread, while its own thread waits for something outside the pool.
//!
//! 1. The lender ceases to be known as a worker, and gives the [`LentWorker`] away.
//! 2. The lender runs a closure of the user, which blocks. The borrower becomes known as the
//!    worker, calls a closure that prepares its thread, and waits for the end of the lender's
//!    closure as [`wait_for_outside`](WorkerThread::wait_for_outside) does: it runs jobs, or
//!    sleeps.
//! 3. The closure has ended. The lender sets the latch of that wait, and blocks. The borrower runs
//!    the job that it is in to its end, and so ends every wait in that job.
//! 4. The borrower ceases to be known as a worker, and sets the latch of the lender.
//! 5. The lender is known as the worker again, and continues.
//!
//! # Why the frames of the lender stay valid
//!
//! To the pool, steps 2 to 4 are like one call of `wait_for_outside` in the lender's frame, and
//! user code may make such a call anywhere: a closure that calls `install` on another pool does so.
//! The only difference is the stack on which that wait runs. So the questions are what depends on
//! the stack or on the thread, and what passes between the two threads.
//!
//! - *Order of the deque.* The borrower runs each job that it pops to its end, and gives the worker
//!   back before the lender continues. So the jobs of the lender's joins that are still on the
//!   deque are where they were, and those that were popped have been run, as
//!   [`take_local_job`](WorkerThread::take_local_job) requires. In an [isolated](crate::Isolation)
//!   call, the borrower takes older jobs from the other end of the deque, as a thief does.
//! - *What only the owner does*: push and pop, the words beside a join's job, the cells of the
//!   `WorkerThread` (the depth, the random numbers, the borrow of the managed thread). Only one
//!   thread at a time does this. Step 1 happens before step 2, because what passes a `Send` value
//!   to another thread orders the two. Step 4 happens before step 5, because the lender's latch
//!   releases and acquires. So a plain store of one thread happens before every later load of the
//!   other.
//! - *The biased deque and process fences.* The light half of a fence stands between a store and a
//!   load of one pop, and no pop spans a step. A heavy half is executed by all running threads of
//!   the process; stores of a thread that does not run at that moment are visible to all. So a pop
//!   on the borrower's thread is as good as one on the lender's.
//! - *Thread progress.* A managed thread names a participant of the instance and holds queues; it
//!   does not ask on which thread it is. It may be active across the steps, as when the lender is
//!   in a closure of [`while_reading`](crate::Registry::while_reading). It then stays active until
//!   that closure ends, whichever thread is the worker. A guard for reading belongs to no thread.
//! - *Parkers.* The worker's parker is a token in the pool, and the thread that is the worker takes
//!   it. The lender blocks with its own [`Waiter`](crate::Waiter).
//! - *Latches in the lender's frames* name the worker, which stays in place. A thread that sets one
//!   wakes the worker, on whichever thread the worker sleeps. That thread looks at its own latch
//!   again when it wakes up.
//! - *Metrics and detection of deadlocks* refer to the worker, not to a thread. While the closure
//!   runs, the detection counts one more active worker, because the closure may end the wait of a
//!   job.
//!
//! Two things do depend on the thread: [`Platform::current`], which steps 1, 2, 4 and 5 set, and
//! references to the `WorkerThread` in frames of the lender, which must not be used meanwhile. The
//! type is not `Sync`, so a closure that is `Send` holds no such reference openly, and
//! `Platform::current` gives it none. But a wrapper such as `send_wrapper::SendWrapper` is `Send`
//! for every type, and gives access on the thread that created it, which is the thread that runs
//! the closure. A scoped thread-local variable gives a reference even to the platform's waiter,
//! which is safe to implement. So the caller of `lend` must promise that its thread uses no such
//! reference. The handles that a pool gives to its users check that the calling thread is still the
//! worker.

use core::{fmt, ptr};

use deque_core::{Deque, Worker};
use sleep_core::CoreLatch;

use crate::{
    deadlock::DeadlockDetection as _,
    isolation::Isolation,
    job::JobRef,
    latch::{BlockingLatch, Latch as _},
    platform::{Platform, PoolProgress},
    random::XorShift64Star,
    unwind::no_unwind,
    worker::WorkerThread,
};

/// A worker that was lent by [`WorkerThread::lend`].
///
/// The lender waits until the value has been [run](Self::run) or dropped.
///
/// # Examples
/// A call that blocks, while another thread runs the jobs of the worker:
/// ```
/// use pool_core::{LentWorker, Platform, WorkerThread};
///
/// /// # Safety
/// /// 1. As for [`WorkerThread::lend`].
/// unsafe fn block_in_place<P: Platform + 'static, R>(
///     worker: &WorkerThread<P>,
///     closure: impl FnOnce() -> R + Send,
/// ) -> R {
///     // A pool has such threads in reserve.
///     let give = |lent: LentWorker<P>| drop(std::thread::spawn(move || lent.run(|| ())));
///     // SAFETY: 1. is forwarded to our caller.
///     unsafe { worker.lend(give, closure) }
/// }
/// ```
pub struct LentWorker<P: Platform> {
    loan: *const Loan<P>,
}

// SAFETY: the worker belongs to the thread that has the value. It consists of what may be sent to
// another thread, as `has_sendable_parts` checks. Its managed thread is not `Send` only so that it
// is not moved while it is borrowed; it holds references to what is `Sync`, numbers, and
// operations, whose closures are `Send`.
unsafe impl<P: Platform> Send for LentWorker<P> {}

/// Compiles only if the parts of a worker that only its owner uses may be sent to another thread.
fn has_sendable_parts<P: Platform>() {
    fn is_send<T: Send>() {}
    is_send::<Worker<&'static Deque<JobRef, P::Storage>>>();
    is_send::<XorShift64Star>();
    is_send::<&'static PoolProgress<P>>();
}

/// What the two threads share, in the lender's frame.
struct Loan<P: Platform> {
    worker: *const WorkerThread<P>,
    /// What the lender may run while it waits.
    isolation: Isolation,
    /// Set when the closure has ended. The borrower waits for it, as the worker.
    closure_ended: CoreLatch,
    /// Set when the borrower does not use the worker any more.
    returned: BlockingLatch<P>,
}

impl<P: Platform> WorkerThread<P> {
    /// Runs a closure while another thread is this worker.
    ///
    /// `give` passes the lent worker to a thread that calls [`LentWorker::run`]. During both
    /// closures, the pool's functions treat the calling thread as a thread outside every pool. The
    /// call returns when the closure and the job that the other thread is running have both ended.
    /// If `give` drops the lent worker, the closure runs while no thread is the worker. If the
    /// closure drops it, because no other thread has begun to run it, the call waits for nothing.
    ///
    /// The documentation of the module says why this is sound. The closures must be `Send`, so that
    /// they hold no reference to the worker by mistake.
    ///
    /// # Panics
    /// Resumes a panic of either closure, when the calling thread is the worker again.
    ///
    /// # Safety
    /// 1. Until the call returns, this thread uses no reference to the worker, except to read what
    ///    never changes: its number and its registry. That holds for both closures, and for what
    ///    this calls: the platform's [`Waiter`](crate::Waiter) and
    ///    [`DeadlockDetection`](crate::DeadlockDetection), its [sleep
    ///    protocol](sleep_core::SleepProtocol) and the [parkers](sleep_core::Parker) of other
    ///    workers.
    pub unsafe fn lend<R>(
        &self,
        give: impl FnOnce(LentWorker<P>) + Send,
        closure: impl FnOnce() -> R + Send,
    ) -> R {
        debug_assert!(
            ptr::eq(P::current(), self),
            "this thread is not this worker"
        );
        let _ = has_sendable_parts::<P>;
        let loan = Loan {
            worker: self,
            isolation: self.isolation(),
            closure_ended: CoreLatch::new(),
            returned: BlockingLatch::new(),
        };
        // SAFETY: 1. the pointer is null.
        unsafe { P::set_current(ptr::null()) };
        no_unwind(|| self.registry().deadlock().begin_outside());
        let _take_back = TakeBack(&loan);
        give(LentWorker { loan: &loan });
        closure()
    }
}

/// Makes the lender the worker again when it is dropped, even by a panic.
struct TakeBack<'l, P: Platform>(&'l Loan<P>);

impl<P: Platform> Drop for TakeBack<'_, P> {
    fn drop(&mut self) {
        let loan = self.0;
        // The frame of the loan must not be left while the borrower uses it.
        no_unwind(|| {
            // SAFETY: `address`: 1. the worker outlives the loan. `set_latch`: 1. the latch is in
            // the loan, which outlives this value; 2. only the borrower waits for it, as the
            // worker; 3. the registry outlives the worker; 4. the closure has ended.
            unsafe {
                let (registry, worker) = WorkerThread::address(loan.worker);
                (*registry).set_latch(&raw const loan.closure_ended, worker);
                // Before the wait, because the job that the borrower is in may never end, which
                // must be reported.
                (*registry).end_outside();
                // Liveness: the drop of the `LentWorker` sets the latch. The drop comes when the
                // borrower's wait ends, for which the borrower only has to end the job that it is
                // in, or when the value is dropped without a run.
                loan.returned.wait();
                // SAFETY: 1. it stays in place after the loan, until this is called again.
                P::set_current(loan.worker);
            }
        });
    }
}

impl<P: Platform> LentWorker<P> {
    /// Makes the calling thread the worker until the lender's closure has ended: runs jobs, and
    /// sleeps when there are none. First calls `begin` as the worker, even if the lender's closure
    /// has ended by then.
    ///
    /// # Panics
    /// If the calling thread is a worker. The lender gets its worker back.
    ///
    /// `begin` must not panic, or the process is aborted.
    pub fn run(self, begin: impl FnOnce()) {
        assert!(P::current().is_null(), "this thread is already a worker");
        // SAFETY: the lender waits until `self` is dropped. `set_current`: 1. the worker stays in
        // place longer than the loan, and `current` is reset here before the loan ends. Only this
        // thread uses the worker, see above.
        unsafe {
            let loan = &*self.loan;
            P::set_current(loan.worker);
            no_unwind(begin);
            (*loan.worker).borrow_until(&loan.closure_ended, loan.isolation);
            P::set_current(ptr::null());
        }
    }
}

impl<P: Platform> Drop for LentWorker<P> {
    fn drop(&mut self) {
        // SAFETY: 1. the lender waits for this, and its frame may be gone afterwards, so this takes
        // a pointer; 2. a value is dropped once, and the borrower does not use the worker any more;
        // 3. it is not a latch of a pool.
        unsafe { BlockingLatch::set(&raw const (*self.loan).returned) };
    }
}

impl<P: Platform> fmt::Debug for LentWorker<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LentWorker").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
