//! Jobs of a scope that have a handle.

use std::{
    mem::ManuallyDrop,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::atomic::{AtomicU8, Ordering},
};

use pool_core::ScopeCore;

use super::{
    JoinError, ScopedJoinHandle,
    task::{AnyTask, State, Task},
};
use crate::{
    api::{scope::Scope, scope_job::AnyScope},
    context::Context,
    panics::drop_quietly,
    platform::{Registry, Std},
};

/// Spawns a job of a scope as [`Scope::spawn`] does, and returns a handle to its result. The scope
/// waits for the job, whether the handle is joined or not.
///
/// A panic of the job is an error of [`join`](ScopedJoinHandle::join), and none of the scope. If
/// the handle was dropped before, it is one of the scope.
///
/// A function, because a drop-in for another pool shows the methods of [`Scope`] to its users.
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
    // The thread that has the handle may run it, where the job of the scope sets no context.
    let context = Context::current();
    let job = move |scope: &Scope<'scope>| context.run(|| job(scope));
    let task = Task::create(Scoped::new(scope), job);
    // SAFETY: 1. it was made for this handle and the job, just now; 2. by our bounds.
    let handle = unsafe { ScopedJoinHandle::new(task, scope.registry()) };
    let queued = QueuedTask(task);
    scope.spawn(move |scope| queued.run(scope));
    handle
}

/// A task that a job of a scope runs, or the thread that has its handle.
struct Scoped<'scope> {
    /// The scope, which lives while the job of the scope has not ended, or another one in its
    /// place.
    scope: *const Scope<'scope>,
    /// Who runs the task, and whether the scope waits for that thread.
    runner: AtomicU8,
}

const NONE: u8 = 0;
/// The job of the scope.
const QUEUE: u8 = 1;
/// The thread that has the handle. The job of the scope is still queued, so that the scope waits.
const HERE: u8 = 2;
/// That thread. The job of the scope has ended, and has added one to the scope for that thread.
const HERE_COUNTED: u8 = 3;
/// None: that thread has run the task, or has dropped its closure.
const OVER: u8 = 4;

impl<'scope> Scoped<'scope> {
    fn new(scope: &Scope<'scope>) -> Self {
        Self {
            scope,
            runner: AtomicU8::new(NONE),
        }
    }

    /// Becomes the runner. Returns false if there is or was one.
    fn begin(&self, runner: u8) -> bool {
        // Ordering: Relaxed on success, which picks one thread, and receives nothing. Acquire on
        // failure pairs with the Release of `end`: the job of the scope passes on to the scope what
        // the thread with the handle has written.
        self.runner
            .compare_exchange(NONE, runner, Ordering::Relaxed, Ordering::Acquire)
            .is_ok()
    }

    /// Lets the scope wait for the thread that has the handle, if that one runs the task. For the
    /// job of the scope, before it ends.
    fn count_runner(&self, scope: &ScopeCore<'_, Std>) {
        // Ordering: Acquire, as on failure in `begin`.
        if self.runner.load(Ordering::Acquire) != HERE {
            return;
        }
        // Before that thread may remove it.
        scope.add_job(None);
        // Ordering: Release pairs with the Acquire of `end`, for the count. Acquire on failure, as
        // in `begin`.
        let counted =
            self.runner
                .compare_exchange(HERE, HERE_COUNTED, Ordering::Release, Ordering::Acquire);
        if counted.is_err() {
            // SAFETY: 1. it was added just now; 2. this is a job of the scope.
            unsafe { ScopeCore::job_done(scope) };
        }
    }

    /// Ends that the thread which has the handle runs the task. Returns whether it has to remove
    /// one from the scope. If not, the scope may have ended.
    fn end(&self) -> bool {
        // Ordering: Release pairs with the Acquire of `begin` and `count_runner`, and Acquire with
        // the Release of the latter.
        self.runner.swap(OVER, Ordering::AcqRel) == HERE_COUNTED
    }
}

impl<'scope, F, T> AnyTask<T> for Task<Scoped<'scope>, F, T>
where
    F: FnOnce(&Scope<'scope>) -> T + Send,
    T: Send,
{
    fn state(&self) -> &State {
        self.state()
    }

    fn run_here(&self, _registry: &Registry) {
        if !self.kind.begin(HERE) {
            return;
        }
        // SAFETY: the job of the scope has not ended, since it becomes the runner before, in any
        // way that it may end. It finds that this thread runs the task, and lets the scope
        // wait until `end`.
        let scope = unsafe { &*self.kind.scope };
        scope.core().run_job(|| {
            let ended = self.run_here(|job| job(scope));
            ended.unwrap_or_else(|waker| resume_unwind(waker));
        });
        let core: *const ScopeCore<'_, Std> = scope.core();
        if self.kind.end() {
            // SAFETY: 1. the job of the scope has added it for this thread; 2. this is a worker of
            // the pool.
            unsafe { ScopeCore::job_done(core) };
        }
    }

    fn abort(&self) -> bool {
        self.kind.begin(OVER) && self.abort()
    }

    unsafe fn take_result(&self) -> Result<T, JoinError> {
        // SAFETY: 1. is forwarded to our caller.
        unsafe { self.take_result() }
    }
}

/// The reference of a scope's job to its task.
struct QueuedTask<'scope, F, T>(*mut Task<Scoped<'scope>, F, T>);

// SAFETY: the closure goes to the thread that runs it, and the result to that of the handle.
unsafe impl<F: Send, T: Send> Send for QueuedTask<'_, F, T> {}

impl<'scope, F: FnOnce(&Scope<'scope>) -> T, T> QueuedTask<'scope, F, T> {
    fn run(self, scope: &Scope<'scope>) {
        let task = ManuallyDrop::new(self).0;
        // SAFETY: it lives by the queue's reference, which ends below.
        let kind = unsafe { &(*task).kind };
        if !kind.begin(QUEUE) {
            kind.count_runner(scope.core());
        }
        // SAFETY: 1. it is used once: the value is consumed.
        let ended = unsafe { Task::run(task, |job| job(scope)) };
        // For the scope, as the panic of any of its jobs.
        ended.unwrap_or_else(|panic| resume_unwind(panic));
    }
}

/// For a job of the scope that ends before it comes to its task: what follows jobs, such as a
/// subscriber of `tracing`, has panicked. The scope may end after that.
impl<F, T> Drop for QueuedTask<'_, F, T> {
    fn drop(&mut self) {
        // SAFETY: it lives by the queue's reference, which ends below.
        let task = unsafe { &*self.0 };
        if task.kind.begin(QUEUE) {
            // Code of the user, during a panic.
            drop_quietly(catch_unwind(AssertUnwindSafe(|| task.abort())));
        } else {
            // SAFETY: the scope lives, since this job of it has not ended.
            let scope = unsafe { &*task.kind.scope };
            task.kind.count_runner(scope.core());
        }
        // SAFETY: 1. it is used once: `run` has not consumed the value.
        drop_quietly(unsafe { Task::leave_queue(self.0) });
    }
}
