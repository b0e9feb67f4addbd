//! Work that lives in a static, and can be spawned again and again.

use core::{cell::UnsafeCell, fmt, ptr::NonNull};

use pool_core::{Job, JobHeader, JobRef, WorkerThread};

use super::{
    SpinPool, arena::JobNode, error::SpawnErrorReason, platform::Cores, platform::run,
    worker::Worker,
};
use crate::{
    machine::Machine,
    primitive::{AtomicBool, Ordering},
};

/// A function in a `static` that a pool runs each time it is spawned: for interrupt handlers, which
/// must not fail for want of room.
///
/// # Examples
/// ```
/// # use std::cell::Cell;
/// # use pool_spin::{CoreLocal, Machine, Spin, SpinPool};
/// # thread_local!(static LOCAL: Cell<*const ()> = const { Cell::new(std::ptr::null()) });
/// # struct Local;
/// # unsafe impl CoreLocal for Local {
/// #     fn get() -> *const () { LOCAL.get() }
/// #     unsafe fn set(pointer: *const ()) { LOCAL.set(pointer) }
/// # }
/// # struct Host;
/// # unsafe impl Machine for Host { type Local = Local; type Parker = Spin; }
/// use pool_spin::Task;
///
/// static POOL: SpinPool<Host, 1, 64> = SpinPool::new();
/// static RECEIVE: Task<Host, 1, 64> = Task::new(|worker| {
///     // ... takes a packet out of the device, and perhaps joins ...
///     worker.spawn(|_| { /* ... */ });
/// });
///
/// // In an interrupt handler: to have been spawned already is just as well.
/// let _ = POOL.spawn_task(&RECEIVE);
/// # POOL.run_with(0, |worker| worker.join(|_| (), |_| ())).unwrap();
/// ```
#[repr(C)]
pub struct Task<M: Machine, const CORES: usize, const JOBS: usize> {
    header: JobHeader,
    node: UnsafeCell<JobNode>,
    /// From being spawned until it begins to run.
    is_spawned: AtomicBool,
    function: fn(Worker<'_, M, CORES, JOBS>),
}

// SAFETY: the node is used by whoever has set `is_spawned`, until the job runs and clears it.
unsafe impl<M: Machine, const CORES: usize, const JOBS: usize> Sync for Task<M, CORES, JOBS> {}

impl<M: Machine, const CORES: usize, const JOBS: usize> Task<M, CORES, JOBS> {
    /// A task that runs this function.
    #[must_use]
    pub const fn new(function: fn(Worker<'_, M, CORES, JOBS>)) -> Self {
        Self {
            header: JobHeader::new::<Self>(),
            node: UnsafeCell::new(JobNode::new(None)),
            is_spawned: AtomicBool::new(false),
            function,
        }
    }
}

impl<M: Machine, const CORES: usize, const JOBS: usize> SpinPool<M, CORES, JOBS> {
    /// Spawns a task, from any core and from interrupt handlers.
    ///
    /// It may be spawned again as soon as it has begun to run: so nothing that was made ready for
    /// it before is overlooked.
    ///
    /// # Errors
    /// [`SpawnErrorReason::AlreadySpawned`] if it has been spawned and has not begun, here or in
    /// another pool; [`SpawnErrorReason::Ended`] if the pool has ended.
    pub fn spawn_task(
        &'static self,
        task: &'static Task<M, CORES, JOBS>,
    ) -> Result<(), SpawnErrorReason> {
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
unsafe impl<M: Machine, const CORES: usize, const JOBS: usize> Job for Task<M, CORES, JOBS> {
    unsafe fn execute(this: *const ()) {
        // SAFETY: by obligation 1; it is in a static.
        let this = unsafe { &*this.cast::<Self>() };
        // SAFETY: 1. used in this call only; jobs are run by workers.
        let worker = unsafe { WorkerThread::<Cores<M, CORES, JOBS>>::current() };
        let worker = worker.expect("jobs run on workers");
        // Ordering: Release pairs with `spawn_task`. Acquire, hence an exchange: what those made
        // ready who found it spawned already is visible to the function.
        this.is_spawned.swap(false, Ordering::AcqRel);
        run(|| (this.function)(Worker(worker)));
        worker.registry().remove_reference();
    }
}

impl<M: Machine, const CORES: usize, const JOBS: usize> fmt::Debug for Task<M, CORES, JOBS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Ordering: Relaxed, for looking on.
        f.debug_struct("Task")
            .field("is_spawned", &self.is_spawned.load(Ordering::Relaxed))
            .finish_non_exhaustive()
    }
}
