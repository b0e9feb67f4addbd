//! Closures that nobody waits for.

use core::ptr::NonNull;

use pool_core::{JobRef, Registry, WorkerThread};

use super::{
    SpinPool,
    arena::{JobNode, Slot, Spawned},
    error::{SpawnError, SpawnErrorReason},
    platform::Cores,
    platform::run,
    worker::Worker,
};
use crate::machine::Machine;

impl<M: Machine, const CORES: usize, const JOBS: usize> SpinPool<M, CORES, JOBS> {
    /// Spawns a closure that nobody waits for, from any core and from interrupt handlers. A
    /// reference to a `static` closure is one too.
    ///
    /// Waits for nothing: looks for one of `JOBS` free slots, and pushes onto a lock-free queue,
    /// which is repeated only when another core pushes at the same moment.
    ///
    /// # Errors
    /// [`SpawnError`] with the closure if there is no room for it, or if the pool has ended. A
    /// [`Task`](crate::Task) brings its room along.
    pub fn spawn<F>(&'static self, closure: F) -> Result<(), SpawnError<F>>
    where
        F: FnOnce(Worker<'_, M, CORES, JOBS>) + Send + 'static,
    {
        let registry = self.registry();
        if !registry.try_add_reference() {
            let reason = SpawnErrorReason::Ended;
            return Err(SpawnError { closure, reason });
        }
        let spawned = Alone::<M, CORES, JOBS, F> { registry, closure };
        // SAFETY: 1. the arena is the pool's, and pools are statics; 2. the closure is `'static`.
        match unsafe { Slot::put(registry.data().arena.slots(), spawned) } {
            Ok((node, job)) => {
                // SAFETY: 1. the node is the job's.
                unsafe { registry.inject(node, job) };
                Ok(())
            }
            Err(Alone { closure, .. }) => {
                registry.remove_reference();
                let reason = SpawnErrorReason::Full;
                Err(SpawnError { closure, reason })
            }
        }
    }
}

impl<M: Machine, const CORES: usize, const JOBS: usize> Worker<'_, M, CORES, JOBS> {
    /// Spawns a closure that nobody waits for: onto this worker's own deque. If the pool has no
    /// room for it, it is run at once, within this call: one that spawns itself needs
    /// [`try_spawn`](Self::try_spawn).
    pub fn spawn(self, closure: impl FnOnce(Worker<'_, M, CORES, JOBS>) + Send + 'static) {
        if let Err(error) = self.try_spawn(closure) {
            run(|| (error.closure)(self));
        }
    }

    /// As [`spawn`](Self::spawn), and hands the closure back if there is no room for it.
    ///
    /// # Errors
    /// [`SpawnError`] with [`SpawnErrorReason::Full`].
    pub fn try_spawn<F>(self, closure: F) -> Result<(), SpawnError<F>>
    where
        F: FnOnce(Worker<'_, M, CORES, JOBS>) + Send + 'static,
    {
        let registry = self.0.registry();
        registry.add_reference();
        let spawned = Alone::<M, CORES, JOBS, F> { registry, closure };
        // SAFETY: 1. the arena is the pool's, and pools are statics; 2. the closure is `'static`.
        match unsafe { Slot::put(registry.data().arena.slots(), spawned) } {
            Ok((node, job)) => {
                // SAFETY: 1. as above, and this is the only use.
                unsafe { queue(registry, node, job) };
                Ok(())
            }
            Err(Alone { closure, .. }) => {
                registry.remove_reference();
                let reason = SpawnErrorReason::Full;
                Err(SpawnError { closure, reason })
            }
        }
    }
}

/// Queues a job: on the deque of the worker that this core is, or for all of them.
///
/// # Safety
/// 1. The node is valid until the job begins to run, and the job is used here only.
pub(crate) unsafe fn queue<M: Machine, const CORES: usize, const JOBS: usize>(
    registry: &Registry<Cores<M, CORES, JOBS>>,
    node: NonNull<JobNode>,
    job: JobRef,
) {
    // SAFETY: 1. used in this call only.
    match unsafe { WorkerThread::<Cores<M, CORES, JOBS>>::current() } {
        // SAFETY: 1. by obligation 1.
        Some(worker) if core::ptr::eq(worker.registry(), registry) => unsafe { worker.post(job) },
        // SAFETY: 1. by obligation 1.
        _ => unsafe { registry.inject(node, job) },
    }
}

/// A closure that nobody waits for. It has one of the pool's references until it has been run.
struct Alone<M: Machine, const CORES: usize, const JOBS: usize, F> {
    /// Of a static.
    registry: *const Registry<Cores<M, CORES, JOBS>>,
    closure: F,
}

// SAFETY: the registry is shared by all workers.
unsafe impl<M: Machine, const CORES: usize, const JOBS: usize, F: Send> Send
    for Alone<M, CORES, JOBS, F>
{
}

impl<M, const CORES: usize, const JOBS: usize, F> Spawned for Alone<M, CORES, JOBS, F>
where
    M: Machine,
    F: FnOnce(Worker<'_, M, CORES, JOBS>) + Send,
{
    fn run(self) {
        let Self { registry, closure } = self;
        // SAFETY: 1. used in this call only; jobs are run by workers.
        let worker = unsafe { WorkerThread::current() }.expect("jobs run on workers");
        run(|| closure(Worker(worker)));
        // SAFETY: pools are statics.
        unsafe { (*registry).remove_reference() };
    }
}
