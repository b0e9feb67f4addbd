//! Jobs of a scope that have a handle.

use std::{
    convert::identity,
    marker::PhantomData,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::atomic::{AtomicU8, Ordering},
};

use pool_core::{Job, JobHeader, JobRef, ScopeCore};

use super::{
    JoinError, ScopedJoinHandle,
    task::{AnyTask, Task},
};
use crate::{
    api::{scope::Scope, scope_job::AnyScope},
    job_context::Context,
    platform::{Registry, Std, WorkerThread},
};

/// Spawns a job of a scope as [`Scope::spawn`] does, and returns a handle to its result. The scope
/// waits for the job, whether the handle is joined or not.
///
/// If the job panics, [`join`](ScopedJoinHandle::join) returns an error, and the scope does not
/// panic. If the handle was dropped before, the panic goes to the scope.
///
/// This is a function and not a method, because a drop-in for another pool exposes the methods of
/// [`Scope`] to its users.
///
/// # Examples
/// ```
/// let words = ["some", "words"];
/// let lengths = pool_std::scope(|scope| {
///     let jobs = words.map(|word| pool_std::spawn_handle_in(scope, move |_| word.len()));
///     jobs.map(|job| job.join().unwrap())
/// });
/// assert_eq!(lengths, [4, 5]);
/// ```
pub fn spawn_handle_in<'scope, F, T>(scope: &Scope<'scope>, job: F) -> ScopedJoinHandle<'scope, T>
where
    F: FnOnce(&Scope<'scope>) -> T + Send + 'scope,
    T: Send + 'scope,
{
    let context = Context::current();
    let job = move |scope: &Scope<'scope>| context.run(|| job(scope));
    let task: *mut ScopedTask<'scope, _, T> = Task::create(Scoped::new(scope), job);
    // SAFETY: 1. the task was created for this handle and the queue, just now; 2. by our bounds.
    let handle = unsafe { ScopedJoinHandle::new(task, scope.registry()) };
    // SAFETY: `JobRef::new`: 1. the task lives until its execution has ended the queue's reference,
    // and `'scope` outlives the scope, which waits for that; 2. the closure and the result are
    // `Send`, and the scope is `Sync`. `spawn_job`: 1. the job is used only for this, and calls
    // `job_done`.
    unsafe { scope.spawn_job(JobRef::new(task.cast_const())) };
    handle
}

/// What a queue needs of a task that was spawned in a scope. The task is run by a worker that takes
/// it from the queue, or by the thread that has its handle.
#[repr(C)]
struct Scoped<'scope, F, T> {
    header: JobHeader,
    /// The scope. It lives until the queued job has ended, or until the job that was counted
    /// instead has ended.
    scope: *const Scope<'scope>,
    /// Which thread runs the task, and whether the scope waits for that thread.
    runner: AtomicU8,
    /// The header is for a task of these types.
    task: PhantomData<fn(F) -> T>,
}

type ScopedTask<'scope, F, T> = Task<Scoped<'scope, F, T>, F, T>;

const NONE: u8 = 0;
/// The worker that has taken the job from its queue is the runner.
const QUEUE: u8 = 1;
/// The thread that has the handle is the runner. The job is still queued, so the scope waits.
const HERE: u8 = 2;
/// That thread is the runner. The job has left its queue, and has added a job to the scope's count
/// for the thread.
const HERE_COUNTED: u8 = 3;
/// No thread is the runner: the one with the handle has run the task, or has dropped its closure.
const OVER: u8 = 4;

impl<'scope, F, T> Scoped<'scope, F, T>
where
    F: FnOnce(&Scope<'scope>) -> T + Send,
    T: Send,
{
    fn new(scope: &Scope<'scope>) -> Self {
        Self {
            header: JobHeader::new::<ScopedTask<'scope, F, T>>(),
            scope,
            runner: AtomicU8::new(NONE),
            task: PhantomData,
        }
    }
}

impl<F, T> Scoped<'_, F, T> {
    /// Becomes the runner. Returns false if there is or was another one.
    fn begin(&self, runner: u8) -> bool {
        // Ordering: Relaxed on success, which selects one thread and receives no data. Acquire on
        // failure pairs with the Release of `end`: the job of the queue passes on to the scope what
        // the thread with the handle has written.
        self.runner
            .compare_exchange(NONE, runner, Ordering::Relaxed, Ordering::Acquire)
            .is_ok()
    }

    /// Becomes the runner of a job that has left its queue. If the thread that has the handle runs
    /// the task, makes the scope wait for that thread instead.
    fn begin_from_queue(&self, scope: &ScopeCore<'_, Std>) {
        // Ordering: Acquire, as on failure in `begin`.
        if self.begin(QUEUE) || self.runner.load(Ordering::Acquire) != HERE {
            return;
        }
        // This comes before that thread may remove the job from the count.
        scope.add_job(None);
        // Ordering: Release pairs with the Acquire of `end`, for the count. Acquire on failure, as
        // in `begin`.
        let counted =
            self.runner
                .compare_exchange(HERE, HERE_COUNTED, Ordering::Release, Ordering::Acquire);
        if counted.is_err() {
            // SAFETY: 1. the job was added just now; 2. a worker of the scope's pool runs it.
            unsafe { ScopeCore::job_done(scope) };
        }
    }

    /// Ends the run of the thread that has the handle. Returns whether the thread has to remove a
    /// job from the scope's count. If not, the scope may have ended.
    fn end(&self) -> bool {
        // Ordering: Release pairs with the Acquire of `begin` and `begin_from_queue`, and Acquire
        // with the Release of the latter.
        self.runner.swap(OVER, Ordering::AcqRel) == HERE_COUNTED
    }
}

// SAFETY: 1. the header comes first, in `Task` and in `Scoped`; `Scoped::new` makes it for this
// type.
unsafe impl<'scope, F, T> Job for ScopedTask<'scope, F, T>
where
    F: FnOnce(&Scope<'scope>) -> T + Send,
    T: Send,
{
    unsafe fn execute(this: *const ()) {
        let task: *mut Self = this.cast_mut().cast();
        // SAFETY: by obligations 1 and 2 this is the pointer of `spawn_handle_in`, used once. The
        // scope waits, and so lives, until `job_done`.
        let scope = unsafe { &*(*task).kind.scope };
        let core: *const ScopeCore<'_, Std> = scope.core();
        // The closure captures no reference to the task, because it frees the task.
        scope.core().run_job(|| {
            // SAFETY: as above.
            unsafe { (*task).kind.begin_from_queue(scope.core()) };
            // SAFETY: 1. as above.
            let ended = unsafe { Task::run(task, |closure| closure(scope)) };
            // The scope receives the panic, as it does from any of its jobs.
            ended.unwrap_or_else(|panic| resume_unwind(panic));
        });
        // SAFETY: 1. `spawn_job` has added the job, and it is run once; 2. only workers of the
        // scope's pool run it.
        unsafe { ScopeCore::job_done(core) };
    }
}

impl<'scope, F, T> ScopedTask<'scope, F, T>
where
    F: FnOnce(&Scope<'scope>) -> T,
{
    /// Runs the job as [`Job::execute`] does, but returns the result. Does not change the state of
    /// the job, since no other thread knows about the job.
    ///
    /// # Safety
    /// 1. As for [`take_apart`](Self::take_apart), on a worker of the scope's pool.
    unsafe fn end_here(this: *mut Self) -> Result<T, JoinError> {
        // SAFETY: 1. is forwarded to our caller.
        let (kind, content) = unsafe { Self::take_apart(this) };
        // SAFETY: the scope waits, and so lives, until `job_done`.
        let scope = unsafe { &*kind.scope };
        let core: *const ScopeCore<'_, Std> = scope.core();
        let result = content.map_or_else(identity, |closure| {
            let mut result = None;
            scope.core().run_job(|| {
                let call = AssertUnwindSafe(|| closure(scope));
                result = Some(catch_unwind(call).map_err(JoinError::panicked));
            });
            result.expect("the scope runs the body of each job")
        });
        // SAFETY: 1. `spawn_job` has added the job, and it is run once; 2. by our obligation 1.
        unsafe { ScopeCore::job_done(core) };
        result
    }
}

impl<'scope, F, T> AnyTask<T> for ScopedTask<'scope, F, T>
where
    F: FnOnce(&Scope<'scope>) -> T + Send,
    T: Send,
{
    unsafe fn join_on(this: *mut Self, worker: &WorkerThread) -> Option<Result<T, JoinError>> {
        // SAFETY: 1. the caller has both references, and the handle's has left no waiter.
        let end_here = || unsafe { Self::end_here(this) };
        // SAFETY: 1. is forwarded to our caller.
        unsafe { Task::help_until_done(this, worker, end_here) }
    }

    fn run_here(&self, _registry: &Registry) {
        if !self.kind.begin(HERE) {
            return;
        }
        // SAFETY: the job of the queue has not ended, because it would have become the runner
        // before. It will find that this thread runs the task, and make the scope wait until `end`.
        let scope = unsafe { &*self.kind.scope };
        scope.core().run_job(|| {
            let ended = self.run_here(|job| job(scope));
            ended.unwrap_or_else(|waker| resume_unwind(waker));
        });
        let core: *const ScopeCore<'_, Std> = scope.core();
        if self.kind.end() {
            // SAFETY: 1. the job of the queue has added a job for this thread; 2. this is a worker
            // of the pool.
            unsafe { ScopeCore::job_done(core) };
        }
    }

    fn abort(&self) -> bool {
        self.kind.begin(OVER) && self.abort()
    }
}
