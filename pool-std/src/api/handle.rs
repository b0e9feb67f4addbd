//! Jobs with a handle, which gives access to their results.

use std::{
    fmt,
    marker::PhantomData,
    panic::{RefUnwindSafe, UnwindSafe},
    pin::Pin,
    ptr::NonNull,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use pool_core::Isolation;

use crate::{
    driver,
    fork::Process,
    limit::Limit,
    platform::{Registry, WorkerThread},
};

mod abort_on_drop;
mod error;
mod future;
mod refused;
mod scoped;
mod set;
mod spawned;
mod task;
#[cfg(test)]
mod tests;
mod wait;
mod waiter;

pub use abort_on_drop::AbortOnDropHandle;
pub use error::JoinError;
pub use future::spawn_future;
pub(crate) use future::spawn_future_on;
pub(crate) use refused::refuse;
pub use scoped::spawn_handle_in;
pub use set::JoinSet;
pub(crate) use spawned::{Always, Wanted, spawn_handle_on, spawn_handle_with_on};
pub use spawned::{spawn_handle, spawn_handle_with};
use task::{AnyTask, State, Task};
use waiter::{Bell, Waiter};

/// A handle to a job that borrows nothing. See [`ScopedJoinHandle`] for its methods.
pub type JoinHandle<T> = ScopedJoinHandle<'static, T>;

/// A handle to a job: to wait for its result, to await it, or to abort it.
///
/// Created by [`spawn_handle`], [`ThreadPool::spawn_handle`](crate::ThreadPool::spawn_handle) and
/// [`spawn_handle_in`]. The handle of a scope's job has the lifetime of the scope's borrows.
///
/// - [`join`](Self::join) waits for the result. [`wait_timeout`](Self::wait_timeout) waits for a
///   limited time.
/// - It is a [`Future`], which any runtime can await. The job wakes the task once, when it is done.
/// - [`abort`](Self::abort) drops a job that has not started, and so does dropping a handle from
///   [`abort_on_drop`](JoinHandle::abort_on_drop).
/// - Dropping a handle detaches its job, which still runs. If the job then panics, the panic goes
///   to the pool's [panic handler](crate::ThreadPoolBuilder::panic_handler), as for a
///   [spawned](crate::spawn()) job, or to the scope.
///
/// The closure, the result and the state share one block of the memory that threads cache for
/// spawned jobs, or one allocation if they take more than a cache line.
///
/// # Examples
/// From async code:
/// ```
/// async fn sum(numbers: Vec<u64>) -> u64 {
///     let job = pool_std::spawn_handle(move || numbers.iter().sum::<u64>());
///     job.await.unwrap_or_else(|error| error.resume())
/// }
///
/// assert_eq!(pool_std::block_on(sum(vec![1, 2, 3])), 6);
/// ```
#[must_use = "a handle that is dropped detaches its job"]
pub struct ScopedJoinHandle<'scope, T> {
    /// None after the result was taken. The handle is one of the task's two owners.
    task: Option<NonNull<dyn AnyTask<T> + 'scope>>,
    /// [`Task::leave`], for the type of the task.
    leave: unsafe fn(*mut ()),
    /// [`AnyTask::join_on`], for the type of the task.
    join_on: unsafe fn(*mut (), &WorkerThread) -> Option<Result<T, JoinError>>,
    /// The job's pool. Only used in comparisons.
    registry: *const Registry,
    process: Process,
    result: PhantomData<T>,
}

// SAFETY: a handle gives its result to the thread that has it, or drops the closure there. Both are
// `Send`, by obligation 2 of `new`. The pointer to the registry is only compared.
unsafe impl<T: Send> Send for ScopedJoinHandle<'_, T> {}
// SAFETY: a shared reference gives no access to the result. It can abort the job, which drops the
// closure, as above.
unsafe impl<T: Send> Sync for ScopedJoinHandle<'_, T> {}

/// A call that panics has changed nothing, or has aborted the job. A panic of the job is in the
/// result.
impl<T> UnwindSafe for ScopedJoinHandle<'_, T> {}
/// As for `UnwindSafe`.
impl<T> RefUnwindSafe for ScopedJoinHandle<'_, T> {}

impl<'scope, T: Send + 'scope> ScopedJoinHandle<'scope, T> {
    /// # Safety
    /// 1. The task was created with this handle for one of its two owners.
    /// 2. Its closure and its result are `Send`.
    unsafe fn new<K: 'scope, F: 'scope>(task: *mut Task<K, F, T>, registry: *const Registry) -> Self
    where
        Task<K, F, T>: AnyTask<T>,
    {
        Self {
            task: NonNull::new(task as *mut (dyn AnyTask<T> + 'scope)),
            leave: Task::<K, F, T>::leave,
            join_on: Task::<K, F, T>::join_from_handle,
            registry,
            process: Process::current(),
            result: PhantomData,
        }
    }
}

impl<'scope, T> ScopedJoinHandle<'scope, T> {
    /// Waits until the job has finished, and returns its result.
    ///
    /// A worker of the job's pool first runs its own jobs, and then this job, if no other worker
    /// has started it. After that it waits as in a [`scope`](crate::scope()): it runs jobs of other
    /// workers, unless it is [isolated](crate::isolate). A worker of another pool runs jobs of that
    /// pool. Any other thread blocks.
    ///
    /// # Errors
    /// Returns a [`JoinError`] if the job panicked, was [aborted](Self::abort), or belongs to a
    /// parent of this process that forked before the job had finished.
    ///
    /// # Panics
    /// If the handle has already returned its result as a future.
    ///
    /// # Examples
    /// ```
    /// let jobs: Vec<_> = (0..10).map(|n| pool_std::spawn_handle(move || n * n)).collect();
    /// let sum: u32 = jobs.into_iter().map(|job| job.join().unwrap()).sum();
    /// assert_eq!(sum, 285);
    /// ```
    pub fn join(mut self) -> Result<T, JoinError> {
        if let Some(result) = self.join_on_worker() {
            return result;
        }
        if !self.is_finished() {
            let isolation = driver::current_isolation();
            if isolation != Isolation::Anything {
                self.run_until_done(isolation);
            }
            self.wait(isolation);
        }
        self.take()
    }

    /// Waits until the job has finished, but no longer than `timeout`. Returns whether it has
    /// finished.
    ///
    /// A worker runs other jobs meanwhile, so it may return late, when the last of them has
    /// finished. If there are none, it checks every millisecond, because a worker cannot sleep with
    /// a timeout.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    ///
    /// let mut job = pool_std::spawn_handle(|| std::thread::sleep(Duration::from_millis(20)));
    /// while !job.wait_timeout(Duration::from_millis(5)) {
    ///     println!("not yet");
    /// }
    /// assert!(job.join().is_ok());
    /// ```
    pub fn wait_timeout(&mut self, timeout: Duration) -> bool {
        let limit = Limit::new(timeout);
        self.help();
        if self.is_finished() || !self.is_here() {
            return self.is_finished();
        }
        // SAFETY: 1. the reference is used in this statement.
        if let Some(worker) = unsafe { WorkerThread::current() } {
            return limit.poll(Some(worker), WorkerThread::help, || {
                if let Some(worker) = self.worker() {
                    // A future may have been woken meanwhile. If this wait is isolated, no queue
                    // gives it to this worker.
                    self.run_on(worker, worker.isolation());
                }
                self.is_finished()
            });
        }
        let bell = Arc::new(Bell::default());
        let earlier = self.take_back_waiter();
        // If the job is done, another thread may be receiving the waiter.
        if !self.is_finished() && self.set_waiter(Waiter::Timed(bell.clone())) {
            // Liveness: the thread that sets the result rings.
            bell.wait_for(limit.remaining());
        }
        let is_pending = self.clear_waiter();
        // A task that has polled the handle before is still to be woken.
        if let Some(Waiter::Task(waker)) = earlier
            && !(is_pending && self.set_waiter(Waiter::Task(waker.clone())))
        {
            waker.wake();
        }
        self.is_finished()
    }

    /// Whether the job has finished, so that [`join`](Self::join) returns at once.
    ///
    /// # Examples
    /// ```
    /// pool_std::scope(|scope| {
    ///     let handle = pool_std::spawn_handle_in(scope, |_| 6 * 7);
    ///     while !handle.is_finished() {
    ///         pool_std::yield_now();
    ///     }
    ///     assert_eq!(handle.join().ok(), Some(42));
    /// });
    /// ```
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.task.is_none() || self.state().is_done()
    }

    /// Drops the job's closure, on this thread, if the job has not started. Returns whether it did.
    ///
    /// [`join`](Self::join) then returns an [error](JoinError::is_aborted). A job that has started
    /// continues, and is not notified.
    ///
    /// The pool counts an aborted job as spawned until a worker takes its empty entry from the
    /// queue.
    ///
    /// # Panics
    /// Resumes a panic of the closure's drop, or of a waker. The job is still aborted.
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(1).build()?;
    /// let job = pool.install(|| {
    ///     let job = pool_std::spawn_handle(|| unreachable!("the only worker is here"));
    ///     assert!(job.abort());
    ///     job
    /// });
    /// assert!(job.join().unwrap_err().is_aborted());
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    pub fn abort(&self) -> bool {
        self.task.is_some() && self.task().abort()
    }

    fn task(&self) -> &(dyn AnyTask<T> + 'scope) {
        let task = self.task.expect("the result was taken");
        // SAFETY: the handle is one of the task's owners.
        unsafe { task.as_ref() }
    }

    fn state(&self) -> &State {
        self.task().state()
    }

    /// Takes the result of a job that is done, or that belongs to a parent of this process.
    fn take(&mut self) -> Result<T, JoinError> {
        if !self.state().is_done() {
            assert!(!self.is_here(), "a wait that has ended too early");
            self.leave();
            return Err(JoinError::forked());
        }
        // SAFETY: 1. the job is done, and the handle leaves below.
        let result = unsafe { self.task().take_result() };
        self.leave();
        result
    }

    /// Ends the handle of a job whose result was not taken.
    fn detach(&mut self) {
        // Takes the result, because the queue may still hold its reference to the task. When that
        // reference is dropped later, a panic that is left in the task would count as that of a
        // detached job.
        //
        // SAFETY: 1. the job is done, its result was not taken, and the handle leaves below.
        let result = self
            .is_finished()
            .then(|| unsafe { self.task().take_result() });
        self.leave();
        // Code of the user, which may panic.
        drop(result);
    }

    /// Ends the handle's part of the task.
    fn leave(&mut self) {
        if let Some(task) = self.task.take() {
            // SAFETY: 1. the function is that for the task, and the handle has forgotten the task.
            unsafe { (self.leave)(task.as_ptr().cast()) };
        }
    }
}

impl<T> Future for ScopedJoinHandle<'_, T> {
    type Output = Result<T, JoinError>;

    /// On a worker of the job's pool that runs [no other jobs](crate::isolate) in its waits, this
    /// runs the job, because no other worker may be able to. If the job is a future, its wake-up
    /// wakes the task that polls this handle, which polls the future again.
    ///
    /// # Panics
    /// If it has returned the result before.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.help_isolated(context.waker());
        if !self.state().is_done() && self.is_here() {
            // Code of the user, before anything changes.
            let waker = context.waker().clone();
            if self.clear_waiter() && self.set_waiter(Waiter::Task(waker)) {
                return Poll::Pending;
            }
        }
        Poll::Ready(self.take())
    }
}

/// The value is not pinned: the job is elsewhere.
impl<T> Unpin for ScopedJoinHandle<'_, T> {}

impl<T> Drop for ScopedJoinHandle<'_, T> {
    #[inline]
    fn drop(&mut self) {
        if self.task.is_some() {
            self.detach();
        }
    }
}

impl<T> fmt::Debug for ScopedJoinHandle<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle")
            .field("is_finished", &self.is_finished())
            .finish_non_exhaustive()
    }
}
