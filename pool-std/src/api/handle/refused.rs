//! The handles of jobs that no pool takes.

use super::{
    JoinHandle, ScopedJoinHandle,
    task::{AnyTask, Task},
};
use crate::platform::Registry;

/// Drops a job or a future that is spawned after its pool has ended, and returns its handle: the
/// job is aborted. If the drop panics, the panic goes to the pool's panic handler.
#[cold]
pub(crate) fn refuse<F, T>(registry: &Registry, job: F) -> JoinHandle<T>
where
    F: Send + 'static,
    T: Send + 'static,
{
    let task: *mut RefusedTask<F, T> = Task::create(Refused, job);
    // SAFETY: 1. the task was created for this handle and this function, just now; 2. by our
    // bounds.
    let handle = unsafe { ScopedJoinHandle::new(task, registry) };
    let handlers = &registry.data().handlers;
    handlers.run_and_handle_panic("the drop of a refused job", || _ = handle.abort());
    // SAFETY: 1. the task lives by this reference, which stands for that of a queue and is not used
    // any more.
    let ended = unsafe { Task::run(task, |_| unreachable!("it was aborted")) };
    handlers.handle_panic("a refused job", ended);
    handle
}

/// Takes the place of what a queue would need.
struct Refused;

type RefusedTask<F, T> = Task<Refused, F, T>;

impl<F: Send, T: Send> AnyTask<T> for RefusedTask<F, T> {
    fn run_here(&self, _registry: &Registry) {}

    fn abort(&self) -> bool {
        self.abort()
    }
}
