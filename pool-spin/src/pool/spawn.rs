//! The ways in: closures that are spawned, tasks, and closures that are installed.

use core::{cell::UnsafeCell, fmt, ptr::NonNull};

use pool_core::{Job, JobHeader, JobRef, Registry, WorkerThread};

use super::{
    SpinPool,
    arena::{JobNode, Slot, Spawned},
    error::{SpawnError, SpawnErrorReason},
    platform::run,
    system::System,
    worker::Worker,
};
use crate::primitive::{AtomicBool, Ordering};

impl<S: System> SpinPool<S> {
    /// Runs a closure on one of the workers and waits for it, spinning: the way in for cores that
    /// are no workers. On a worker, the closure is run at once.
    ///
    /// Waits as long as no core is a worker.
    ///
    /// # Panics
    /// If the pool has ended; [`try_install`](Self::try_install) does not.
    pub fn install<R: Send>(&'static self, closure: impl FnOnce(Worker<'_, S>) -> R + Send) -> R {
        let _reference = self.hold();
        self.registry()
            .in_worker(|worker, _| closure(Worker(worker)))
    }

    /// As [`install`](Self::install), and hands the closure back if the pool has ended.
    ///
    /// # Errors
    /// [`SpawnError`] with [`SpawnErrorReason::Ended`].
    pub fn try_install<F, R>(&'static self, closure: F) -> Result<R, SpawnError<F>>
    where
        F: FnOnce(Worker<'_, S>) -> R + Send,
        R: Send,
    {
        let Some(_reference) = self.try_hold() else {
            let reason = SpawnErrorReason::Ended;
            return Err(SpawnError { closure, reason });
        };
        Ok(self
            .registry()
            .in_worker(|worker, _| closure(Worker(worker))))
    }

    /// Keeps the pool from ending.
    ///
    /// # Panics
    /// If it has ended.
    pub(crate) fn hold(&'static self) -> PoolGuard<S> {
        self.try_hold().expect("the pool has ended")
    }

    pub(crate) fn try_hold(&'static self) -> Option<PoolGuard<S>> {
        self.registry().try_add_reference().then(|| PoolGuard(self))
    }
}

/// One of a pool's references.
pub(crate) struct PoolGuard<S: System>(&'static SpinPool<S>);

impl<S: System> Drop for PoolGuard<S> {
    fn drop(&mut self) {
        self.0.registry().remove_reference();
    }
}

impl<S: System> SpinPool<S> {
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
        F: FnOnce(Worker<'_, S>) + Send + 'static,
    {
        let registry = self.registry();
        if !registry.try_add_reference() {
            let reason = SpawnErrorReason::Ended;
            return Err(SpawnError { closure, reason });
        }
        let spawned = SpawnJob::<S, F> { registry, closure };
        // SAFETY: 1. the arena is the pool's, and pools are statics; 2. the closure is `'static`.
        match unsafe { Slot::put(registry.data().arena.as_ref(), spawned) } {
            Ok((node, job)) => {
                // SAFETY: 1. the node is the job's.
                unsafe { registry.inject(node, job) };
                Ok(())
            }
            Err(SpawnJob { closure, .. }) => {
                registry.remove_reference();
                let reason = SpawnErrorReason::Full;
                Err(SpawnError { closure, reason })
            }
        }
    }
}

impl<S: System> Worker<'_, S> {
    /// Spawns a closure that nobody waits for: onto this worker's own deque. If the pool has no
    /// room for it, it is run at once, within this call: one that spawns itself needs
    /// [`try_spawn`](Self::try_spawn).
    pub fn spawn(self, closure: impl FnOnce(Worker<'_, S>) + Send + 'static) {
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
        F: FnOnce(Worker<'_, S>) + Send + 'static,
    {
        let registry = self.0.registry();
        registry.add_reference();
        let spawned = SpawnJob::<S, F> { registry, closure };
        // SAFETY: 1. the arena is the pool's, and pools are statics; 2. the closure is `'static`.
        match unsafe { Slot::put(registry.data().arena.as_ref(), spawned) } {
            Ok((node, job)) => {
                // SAFETY: 1. as above, and this is the only use.
                unsafe { queue(registry, node, job) };
                Ok(())
            }
            Err(SpawnJob { closure, .. }) => {
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
pub(crate) unsafe fn queue<S: System>(registry: &Registry<S>, node: NonNull<JobNode>, job: JobRef) {
    // SAFETY: 1. used in this call only.
    match unsafe { WorkerThread::<S>::current() } {
        // SAFETY: 1. by obligation 1.
        Some(worker) if core::ptr::eq(worker.registry(), registry) => unsafe { worker.post(job) },
        // SAFETY: 1. by obligation 1.
        _ => unsafe { registry.inject(node, job) },
    }
}

/// A closure that nobody waits for. It has one of the pool's references until it has been run.
struct SpawnJob<S: System, F> {
    /// Of a static.
    registry: *const Registry<S>,
    closure: F,
}

// SAFETY: the registry is shared by all workers.
unsafe impl<S: System, F: Send> Send for SpawnJob<S, F> {}

impl<S, F> Spawned for SpawnJob<S, F>
where
    S: System,
    F: FnOnce(Worker<'_, S>) + Send,
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

/// A function in a `static` that a pool runs each time it is spawned: for interrupt handlers, which
/// must not fail for want of room.
///
/// # Examples
/// ```
/// use pool_spin::{Cores, SpinPool, Task, host::Host};
///
/// type System = Cores<Host, 1, 64>;
/// static POOL: SpinPool<System> = SpinPool::new();
/// static RECEIVE: Task<System> = Task::new(|worker| {
///     // ... takes a packet out of the device, and perhaps joins ...
///     worker.spawn(|_| { /* ... */ });
/// });
///
/// // In an interrupt handler: to have been spawned already is just as well.
/// let _ = POOL.spawn_task(&RECEIVE);
/// # POOL.run_with(0, |worker| worker.join(|_| (), |_| ())).unwrap();
/// ```
#[repr(C)]
pub struct Task<S: System> {
    header: JobHeader,
    node: UnsafeCell<JobNode>,
    /// From being spawned until it begins to run.
    is_spawned: AtomicBool,
    function: fn(Worker<'_, S>),
}

// SAFETY: the node is used by whoever has set `is_spawned`, until the job runs and clears it.
unsafe impl<S: System> Sync for Task<S> {}

impl<S: System> Task<S> {
    /// A task that runs this function.
    #[must_use]
    pub const fn new(function: fn(Worker<'_, S>)) -> Self {
        Self {
            header: JobHeader::new::<Self>(),
            node: UnsafeCell::new(JobNode::new(None)),
            is_spawned: AtomicBool::new(false),
            function,
        }
    }
}

impl<S: System> SpinPool<S> {
    /// Spawns a task, from any core and from interrupt handlers.
    ///
    /// It may be spawned again as soon as it has begun to run: so nothing that was made ready for
    /// it before is overlooked.
    ///
    /// # Errors
    /// [`SpawnErrorReason::AlreadySpawned`] if it has been spawned and has not begun, here or in
    /// another pool; [`SpawnErrorReason::Ended`] if the pool has ended.
    pub fn spawn_task(&'static self, task: &'static Task<S>) -> Result<(), SpawnErrorReason> {
        let registry = self.registry();
        if !registry.try_add_reference() {
            return Err(SpawnErrorReason::Ended);
        }
        // Ordering: Acquire pairs with `execute`: the node is out of its last queue. Release, in
        // case it is spawned already: whoever runs it sees what the caller made ready.
        if task.is_spawned.swap(true, Ordering::AcqRel) {
            registry.remove_reference();
            return Err(SpawnErrorReason::AlreadySpawned);
        }
        let node = NonNull::new(task.node.get()).expect("it is in the task");
        // SAFETY: 1. a static, and 2. a function may be run anywhere.
        let job = unsafe { JobRef::new(core::ptr::from_ref(task)) };
        // SAFETY: 1. nobody else uses the node until the flag is cleared.
        unsafe { registry.inject(node, job) };
        Ok(())
    }
}

// SAFETY: 1. the header comes first; `new` makes it for this type.
unsafe impl<S: System> Job for Task<S> {
    unsafe fn execute(this: *const ()) {
        // SAFETY: by obligation 1; it is in a static.
        let this = unsafe { &*this.cast::<Self>() };
        // SAFETY: 1. used in this call only; jobs are run by workers.
        let worker = unsafe { WorkerThread::<S>::current() };
        let worker = worker.expect("jobs run on workers");
        // Ordering: Release pairs with `spawn_task`. Acquire, hence an exchange: what those made
        // ready who found it spawned already is visible to the function.
        this.is_spawned.swap(false, Ordering::AcqRel);
        run(|| (this.function)(Worker(worker)));
        worker.registry().remove_reference();
    }
}

impl<S: System> fmt::Debug for Task<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Ordering: Relaxed, for looking on.
        f.debug_struct("Task")
            .field("is_spawned", &self.is_spawned.load(Ordering::Relaxed))
            .finish_non_exhaustive()
    }
}
