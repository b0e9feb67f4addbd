//! Lending a worker to another thread, while its own thread waits for something outside the pool.
//!
//! 1. The lender ceases to be known as a worker, and gives the [`LentWorker`] away.
//! 2. The lender runs a closure of the user, which blocks. The borrower is known as the worker,
//!    calls a closure for its own beginning, and [waits](WorkerThread::wait_for_outside) for the
//!    end of the lender's closure: it runs jobs, or sleeps.
//! 3. The closure has ended. The lender sets the latch of that wait, and blocks. The borrower ends
//!    the job that it is in, and with it every wait in that job.
//! 4. The borrower ceases to be known as a worker, and sets the latch of the lender.
//! 5. The lender is known as the worker again, and continues.
//!
//! # Why the frames of the lender stay valid
//!
//! To the pool, steps 2 to 4 are one call of `wait_for_outside` in the lender's frame, and such a
//! call may stand wherever user code runs: a closure that calls `install` on another pool makes
//! one. Only the stack differs on which that wait runs. So the questions are what depends on the
//! stack or on the thread, and what passes between the two threads.
//!
//! - *Order of the deque.* The borrower runs the jobs that it pops to their end, and comes back
//!   before the lender continues. So the jobs of the lender's joins that are still on the deque lie
//!   where they were, and those that were popped have been run: what
//!   [`take_local_job`](WorkerThread::take_local_job) asks. In an [isolated](crate::Isolation) call
//!   the borrower takes the older ones from the other end, as a thief does.
//! - *What only the owner does*: push and pop, the words beside a join's job, the cells of the
//!   `WorkerThread` (the depth, the random numbers, the borrow of the managed thread). One thread
//!   at a time does it. Step 1 happens before step 2, because what passes a `Send` value to another
//!   thread orders the two. Step 4 happens before step 5, because the lender's latch releases and
//!   acquires. So a plain store of one thread lies before every load of the other.
//! - *The biased deque and process fences.* The light half of a fence stands between a store and a
//!   load of one pop, and no pop spans a step. A heavy half is executed by all running threads of
//!   the process; stores of a thread that does not run at that moment are visible to all. So a pop
//!   on the borrower's thread is as good as one on the lender's.
//! - *Thread progress.* A managed thread names a participant of the instance and holds queues; it
//!   does not ask on which thread it is. It is not active in any step, for no code of the user runs
//!   while it is; a guard for reading belongs to no thread.
//! - *Parkers.* The worker's parker is a token in the pool, and whichever thread is the worker
//!   takes it. The lender blocks by its own [`Waiter`](crate::Waiter).
//! - *Latches in the lender's frames* name the worker, which stays in place. A thread that sets one
//!   wakes the worker, wherever that sleeps. It finds its latch unset or set when it looks again.
//! - *Metrics and detection of deadlocks* speak of the worker, not of a thread. While the closure
//!   runs, the detection counts one more active worker, because the closure may end a wait of a
//!   job.
//!
//! What does depend on the thread is [`Platform::current`], which steps 1, 2, 4 and 5 set, and
//! references to the `WorkerThread` in frames of the lender, which must not be used meanwhile. The
//! type is not `Sync`, so a closure that is `Send` holds no such reference openly, and
//! `Platform::current` gives it none. But a wrapper such as `send_wrapper::SendWrapper` is `Send`
//! for every type, and gives access on the thread that created it, which is the thread that runs
//! the closure. A scoped thread-local variable gives one to the waiter of the platform as well,
//! which is safe to implement. So the caller of `lend` must promise that its thread uses no
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
/// The lender waits until the value is used up: [run](Self::run), or dropped.
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

/// Compiles if the parts of a worker that its owner alone uses may be sent to another thread.
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
    /// closures the calling thread is outside the pool, so the pool's functions treat it as a
    /// thread outside every pool. The call returns when the closure and the job that the other
    /// thread is in have ended. If `give` drops the lent worker, the closure runs while no
    /// thread is the worker. If the closure drops it, because no other thread has begun to run it,
    /// the call waits for nothing.
    ///
    /// The page of the module says why this is sound. Its closures are `Send` so that they hold no
    /// reference to the worker by mistake.
    ///
    /// # Panics
    /// Resumes a panic of the closures, when the calling thread is the worker again.
    ///
    /// # Safety
    /// 1. Until the call returns, this thread uses no reference to the worker, except to read what
    ///    never changes: its number and its registry. That holds for both closures, and for the
    ///    platform's [`Waiter`](crate::Waiter) and [`DeadlockDetection`](crate::DeadlockDetection),
    ///    which this calls.
    pub unsafe fn lend<R>(
        &self,
        give: impl FnOnce(LentWorker<P>) + Send,
        closure: impl FnOnce() -> R + Send,
    ) -> R {
        debug_assert!(ptr::eq(P::current(), self), "this thread is another worker");
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

/// Makes the lender the worker again when it is dropped, by a panic too.
struct TakeBack<'l, P: Platform>(&'l Loan<P>);

impl<P: Platform> Drop for TakeBack<'_, P> {
    fn drop(&mut self) {
        let loan = self.0;
        // The frame of the loan must not be left while the borrower uses it.
        no_unwind(|| {
            // SAFETY: `address`: 1. the worker is in a frame above. `set_latch`: 1. the latch is in
            // a frame above; 2. only the borrower waits for it, as the worker; 3. the
            // worker keeps its registry; 4. the closure has ended.
            unsafe {
                let (registry, worker) = WorkerThread::address(loan.worker);
                (*registry).set_latch(&raw const loan.closure_ended, worker);
                // Before the wait: what the borrower is in may never end, which is to be reported.
                (*registry).end_outside();
                // Liveness: the borrower sets the latch when its wait ends, for which it need not
                // run any job but the one that it is in; or when the value is dropped.
                loan.returned.wait();
                // SAFETY: 1. it stays in place: its thread calls this from a frame below it.
                P::set_current(loan.worker);
            }
        });
    }
}

impl<P: Platform> LentWorker<P> {
    /// Makes the calling thread the worker until the lender's closure has ended: runs jobs, and
    /// sleeps when there are none. First, `begin` is called on the worker, even if the closure
    /// has ended by then.
    ///
    /// # Panics
    /// If the calling thread is a worker. The lender gets its worker back.
    ///
    /// `begin` must not panic, or the process is aborted.
    pub fn run(self, begin: impl FnOnce()) {
        assert!(P::current().is_null(), "a thread is one worker at a time");
        // SAFETY: the lender waits until `self` is dropped. `set_current`: 1. the worker stays in
        // place, in a frame below that of the loan, until it is reset here. Only this
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
        // a pointer;
        // 2. a value is dropped once, and the worker is not used any more; 3. it is not a latch of
        //    a pool.
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
