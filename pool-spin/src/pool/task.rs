//! Functions in statics, which interrupt handlers spawn.

use core::{cell::UnsafeCell, fmt, ptr::NonNull};

use pool_core::{Job, JobHeader, JobRef, Priority, Registry, WorkerThread};

use super::{
    SpinPool, arena::JobNode, error::SpawnErrorReason, platform::run, system::System,
    worker::Worker,
};
use crate::primitive::{AtomicBool, Ordering};

/// A function in a `static` that a pool runs each time it is spawned: for interrupt handlers, which
/// must not fail for lack of room.
///
/// # Examples
/// ```
/// use pool_spin::{Cores, SpinPool, Task, host::Host};
///
/// type Chip = Cores<Host, 1, 64>;
/// static POOL: SpinPool<Chip> = SpinPool::new();
/// static RECEIVE: Task<Chip> = Task::new(|worker| {
///     // ... takes a packet out of the device, and perhaps joins ...
///     worker.spawn(|_| { /* ... */ });
/// });
///
/// // In an interrupt handler. An error says that the task has been spawned and has not begun: then
/// // the run that is pending sees this interrupt's data, too.
/// let _ = POOL.spawn_task(&RECEIVE);
/// # POOL.run_with(0, |worker| worker.join(|_| (), |_| ())).unwrap();
/// ```
#[repr(C)]
pub struct Task<S: System> {
    header: JobHeader,
    node: UnsafeCell<JobNode>,
    /// True from the moment when the task is spawned until it begins to run.
    is_spawned: AtomicBool,
    priority: Priority,
    function: fn(Worker<'_, S>),
}

// SAFETY: only the thread that has set `is_spawned` uses the node, until the job runs and clears
// the flag.
unsafe impl<S: System> Sync for Task<S> {}

impl<S: System> Task<S> {
    /// Creates a task that runs a function.
    #[must_use]
    pub const fn new(function: fn(Worker<'_, S>)) -> Self {
        Self {
            header: JobHeader::new::<Self>(),
            node: UnsafeCell::new(JobNode::new(None)),
            is_spawned: AtomicBool::new(false),
            priority: Priority::Normal,
            function,
        }
    }

    /// Sets when the task is run, relative to other queued jobs.
    ///
    /// # Examples
    /// ```
    /// use pool_spin::{Cores, Priority, Task, host::Host};
    ///
    /// static ALARM: Task<Cores<Host, 1, 64>> =
    ///     Task::new(|_| { /* ... */ }).with_priority(Priority::Urgent);
    /// ```
    #[must_use]
    pub const fn with_priority(mut self, priority: Priority) -> Self {
        self.priority = priority;
        self
    }
}

impl<S: System> SpinPool<S> {
    /// Spawns a task, from any core and from interrupt handlers.
    ///
    /// A task may be spawned again as soon as it has begun to run. So each run, or a later one,
    /// sees everything that was prepared for it before it was spawned.
    ///
    /// # Errors
    /// [`SpawnErrorReason::AlreadySpawned`] if the task has been spawned and has not begun, here or
    /// in another pool; [`SpawnErrorReason::Ended`] if the pool has ended.
    ///
    /// # Examples
    /// See [`Task`].
    pub fn spawn_task(&'static self, task: &'static Task<S>) -> Result<(), SpawnErrorReason> {
        // SAFETY: 1. The task is in a static.
        unsafe { task.spawn_on(self.registry()) }
    }
}

impl<S: System> Task<S> {
    /// Spawns the task, as [`SpinPool::spawn_task`] does.
    ///
    /// # Safety
    /// 1. The task stays in place until it has run.
    pub(crate) unsafe fn spawn_on(&self, registry: &Registry<S>) -> Result<(), SpawnErrorReason> {
        if !registry.try_add_reference() {
            return Err(SpawnErrorReason::Ended);
        }
        // Ordering: Acquire pairs with `execute`: the node has left its last queue. Release, in
        // case the task is spawned already: its run sees what our caller prepared.
        if self.is_spawned.swap(true, Ordering::AcqRel) {
            registry.remove_reference();
            return Err(SpawnErrorReason::AlreadySpawned);
        }
        let node = NonNull::new(self.node.get()).expect("the address of a field is not null");
        // SAFETY: 1. is forwarded to our caller. 2. A function may run on any core.
        let job = unsafe { JobRef::new(core::ptr::from_ref(self)) };
        // SAFETY: 1. No other thread uses the node until the flag is cleared.
        unsafe { registry.inject_with(self.priority, node, job) };
        Ok(())
    }
}

// SAFETY: 1. The header is the first field; `new` makes it for this type.
unsafe impl<S: System> Job for Task<S> {
    unsafe fn execute(this: *const ()) {
        // SAFETY: valid by obligation 1; the task stays in place until it has run.
        let this = unsafe { &*this.cast::<Self>() };
        // SAFETY: 1. The reference is used only in this call; jobs run on workers.
        let worker = unsafe { WorkerThread::<S>::current() };
        let worker = worker.expect("jobs run on workers");
        // Ordering: Release pairs with `spawn_task`. Acquire, hence an exchange: the function sees
        // what callers prepared that found the task spawned already.
        this.is_spawned.swap(false, Ordering::AcqRel);
        run(|| (this.function)(Worker(worker)));
        worker.registry().remove_reference_of_job();
    }
}

impl<S: System> fmt::Debug for Task<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Ordering: Relaxed; debug output only.
        f.debug_struct("Task")
            .field("is_spawned", &self.is_spawned.load(Ordering::Relaxed))
            .finish_non_exhaustive()
    }
}
