//! Jobs of a scope that have a handle.

use std::panic::resume_unwind;

use super::{
    JoinError, ScopedJoinHandle,
    task::{AnyTask, State, Task},
};
use crate::{api::scope::Scope, platform::Registry};

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
    let task = Task::create(Scoped, job);
    // SAFETY: 1. it was made for this handle and the job, just now; 2. by our bounds.
    let handle = unsafe { ScopedJoinHandle::new(task, scope.registry()) };
    let queued = QueuedTask(task);
    scope.spawn(move |scope| queued.run(|job| job(scope)));
    handle
}

/// A task that a job of a scope runs.
struct Scoped;

impl<F: Send, T: Send> AnyTask<T> for Task<Scoped, F, T> {
    fn state(&self) -> &State {
        self.state()
    }

    /// The scope must not end before, so the job of the scope runs it.
    fn run_here(&self, _registry: &Registry) {}

    fn abort(&self) -> bool {
        self.abort()
    }

    unsafe fn take_result(&self) -> Result<T, JoinError> {
        // SAFETY: 1. is forwarded to our caller.
        unsafe { self.take_result() }
    }
}

/// The reference of a scope's job to its task.
struct QueuedTask<F, T>(*mut Task<Scoped, F, T>);

// SAFETY: the closure goes to the thread that runs it, and the result to that of the handle.
unsafe impl<F: Send, T: Send> Send for QueuedTask<F, T> {}

impl<F, T> QueuedTask<F, T> {
    fn run(self, call: impl FnOnce(F) -> T) {
        // SAFETY: 1. it is used once: the value is consumed.
        let ended = unsafe { Task::run(self.0, call) };
        // For the scope, as the panic of any of its jobs.
        ended.unwrap_or_else(|panic| resume_unwind(panic));
    }
}
