//! The platform of `pool-core` with threads, an allocator and unwinding.

use std::{
    any::Any,
    cell::Cell,
    hash::{BuildHasher, BuildHasherDefault, DefaultHasher, RandomState},
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    ptr::{self, NonNull},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use deque_core::{Growable, Injector};
use pool_core::{
    ColdPath, Isolation, JobQueue, JobRef, ManagedWorker, Parker, Platform, Replaced, Steal,
    Waiter, WokenBy, WorkerIndex, WorkerShared, progress::Participant,
};

use crate::{
    blocking::{deadlock::PoolAccounting, mutex::WAITED_FOR_ITSELF},
    clock,
    fence::ProcessBarrier,
    fork,
    panics::abort_with,
    parker::{OsParker, ParkerKind},
    seeded::TurnObserver,
    sleep::PoolSleep,
    sync::nap,
    thread_pool::parts::PoolParts,
    tracer::WorkerTracer,
};

/// A pool of this platform.
pub(crate) type Registry = pool_core::Registry<Std>;
/// A worker of this platform.
pub(crate) type WorkerThread = pool_core::WorkerThread<Std>;
/// A worker of this platform that its thread has lent.
pub(crate) type LentWorker = pool_core::LentWorker<Std>;

thread_local! {
    static CURRENT: Cell<*const WorkerThread> = const { Cell::new(ptr::null()) };
    /// For a thread that waits outside a pool. The thread's own park token belongs to the user.
    static WAITER: Arc<OsParker> = Arc::new(OsParker::new(ParkerKind::default()));
}

/// How often a worker yields to the thread for whose next step it waits, before it sleeps.
/// The pauses between these yields take a quarter of a millisecond together.
const YIELDS: u32 = 16;
/// How long the worker sleeps each time: little in comparison with a lost time slice.
const NAP: Duration = Duration::from_micros(50);

/// The observer of each worker: counts events, marks a point in a seeded pool, and keeps events for
/// a trace.
pub(crate) type WorkerObserver = (Counters, (TurnObserver, WorkerTracer));

#[cfg(feature = "metrics")]
pub(crate) type Counters = pool_core::WorkerCounters;
#[cfg(not(feature = "metrics"))]
pub(crate) type Counters = pool_core::NoMetrics;

/// The platform of threads, allocator and unwinding.
///
/// Every registry of this platform is in an [`Arc`].
pub(crate) enum Std {}

// SAFETY: 1. both functions use the same thread-local; 2. registries are in `Arc`s, and the value
// is one; 3. the standard library's function does that; 4. the drop is deferred; 5. nothing here
// panics, and the drop of a registry catches the panics of what handlers have captured, and of what
// was deferred; 6. it runs the path, and returns its answer.
unsafe impl Platform for Std {
    type Parker = OsParker;
    type Sleep = PoolSleep;
    type Workers = Box<[WorkerShared<Self>]>;
    type Storage = Growable<JobRef>;
    type Progress = (OsParker, Box<[Participant<OsParker>]>, ProcessBarrier);
    type Queue = Queue;
    type Waiter = ThreadWaiter;
    type Observer = WorkerObserver;
    type Deadlock = PoolAccounting;
    type Panic = Box<dyn Any + Send>;
    type Data = PoolParts;
    type KeepAlive = Arc<Registry>;

    #[inline]
    fn current() -> *const WorkerThread {
        CURRENT.get()
    }

    unsafe fn set_current(worker: *const WorkerThread) {
        CURRENT.set(worker);
    }

    #[inline]
    fn catch_unwind<R>(closure: impl FnOnce() -> R) -> Result<R, Self::Panic> {
        // Only the code that gets the panic can see what the closure left half-changed.
        catch_unwind(AssertUnwindSafe(closure))
    }

    fn resume_unwind(panic: Self::Panic) -> ! {
        resume_unwind(panic)
    }

    unsafe fn keep_alive(registry: *const Registry) -> Arc<Registry> {
        // SAFETY: every registry is in an `Arc`, by obligation 1 this one lives, and by 2. the
        // pointer is the `Arc`'s own.
        unsafe {
            Arc::increment_strong_count(registry);
            Arc::from_raw(registry)
        }
    }

    fn free_later(worker: &mut ManagedWorker<Self>, replaced: Replaced<Self>) {
        worker.defer(move || drop(replaced));
    }

    fn on_end(registry: &Registry) {
        registry.data().active.end(registry);
        registry.data().lazy.end();
        registry.data().follower.end();
        registry.data().spares.end();
        registry.data().drivers.end();
        registry.data().threads.note_end();
    }

    fn can_end(registry: &Registry) -> bool {
        // In a child, the end would call the drivers, which may share files with the parent's, and
        // take locks that threads of the parent may hold.
        fork::is_own_process(registry)
    }

    fn on_reference_removed(registry: &Registry) {
        registry.data().idle.on_reference_removed(registry);
    }

    #[inline]
    fn begin_search(registry: &Registry) {
        fork::abort_if_forked(registry);
    }

    fn give_way(worker: &WorkerThread, round: u32) {
        fork::abort_if_forked(worker.registry());
        // A yield lets no thread of a lower real-time priority run, but a sleep does.
        if round < YIELDS {
            std::thread::yield_now();
        } else {
            nap(NAP);
        }
    }

    fn random_seed(registry: &Registry, worker: WorkerIndex) -> u64 {
        match &registry.data().turns {
            Some(membership) => membership.turns.seed_of(membership.member(worker)),
            None => {
                let pool = ptr::from_ref(registry).addr();
                let hasher = BuildHasherDefault::<DefaultHasher>::default();
                hasher.hash_one((process_seed(), pool, worker.get()))
            }
        }
    }

    #[inline]
    fn woken_by(parker: &OsParker) -> WokenBy {
        parker.woken_by()
    }

    #[inline]
    fn now() -> Option<u64> {
        clock::now()
    }

    fn release_thread(registry: &Registry) {
        fork::abort_if_forked(registry);
        registry.data().handlers.runnable.release();
    }

    fn acquire_thread(registry: &Registry) {
        registry.data().handlers.runnable.acquire();
    }

    fn fence_before_sleep(registry: &Registry) -> bool {
        registry.data().overlooks_no_jobs && ProcessBarrier::heavy_by_system()
    }

    #[inline]
    fn has_guests(registry: &Registry) -> bool {
        registry.data().guests.are_possible
    }

    #[inline]
    fn parallelism(registry: &Registry) -> usize {
        let crowd = registry.data().crowd.as_ref();
        crowd.map_or(usize::MAX, |crowd| crowd.parallelism(registry))
    }

    fn delays_wake(registry: &Registry) -> bool {
        let crowd = registry.data().crowd.as_ref();
        crowd.is_some_and(|crowd| crowd.delays_wake())
    }

    fn isolation(registry: &Registry, depth: usize) -> Isolation {
        registry.data().waits.isolation(depth)
    }

    #[inline(never)]
    fn run_cold(path: ColdPath<'_, Self>) -> bool {
        path.run()
    }

    fn wait_outside(registry: &Registry, wait: impl FnOnce()) {
        fork::abort_if_forked(registry);
        if registry.data().reporting.is_here() {
            // The accounting is locked, which the worker needs that is to run the job.
            abort_with(WAITED_FOR_ITSELF);
        }
        registry.data().handlers.runnable.around_wait(wait);
        if let Some(membership) = &registry.data().turns {
            membership.turns.settle();
        }
    }
}

/// Returns a random number, which is not zero, and for which only the first worker of a process
/// asks the system.
///
/// No thread waits for another one that asks, which need not be there in a child of `fork`.
fn process_seed() -> usize {
    static SEED: AtomicUsize = AtomicUsize::new(0);

    // Ordering: Relaxed, here and below. Nothing but the number itself is read for it.
    let seed = SEED.load(Ordering::Relaxed);
    if seed != 0 {
        return seed;
    }
    // The low bits are as random as the others.
    let seed = RandomState::new().hash_one(0) as usize | 1;
    let first = SEED.compare_exchange(0, seed, Ordering::Relaxed, Ordering::Relaxed);
    first.err().unwrap_or(seed)
}

/// Returns the pool of a worker.
pub(crate) fn pool_of(worker: &WorkerThread) -> Arc<Registry> {
    // SAFETY: 1. the worker keeps its registry alive; 2. it was made with this pointer.
    unsafe { Std::keep_alive(worker.registry_pointer()) }
}

/// A queue of jobs with memory of its own.
pub(crate) struct Queue(Injector<JobRef>);

impl Queue {
    pub(crate) const fn new() -> Self {
        Self(Injector::new())
    }
}

// SAFETY: 1. and 2. the injector guarantees both; 3. there are no nodes; 4. it never panics, and a
// failure to allocate aborts.
unsafe impl JobQueue for Queue {
    type Node = ();

    fn node() {}

    unsafe fn push(&self, _node: NonNull<()>, job: JobRef) {
        self.0.push(job);
    }

    fn steal(&self) -> Steal<JobRef> {
        self.0.steal()
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn len(&self) -> Option<usize> {
        Some(self.0.len())
    }
}

/// A handle to a thread that waits outside a pool.
pub(crate) struct ThreadWaiter(Arc<OsParker>);

impl Waiter for ThreadWaiter {
    fn current() -> Self {
        // While a thread ends, its thread-locals may be gone. Then it gets a parker of its own,
        // which `park` cannot find: `park` returns early, and the waiter spins.
        Self(
            WAITER
                .try_with(Arc::clone)
                .unwrap_or_else(|_| Arc::new(OsParker::new(ParkerKind::default()))),
        )
    }

    fn park() {
        if WAITER.try_with(|parker| parker.park()).is_err() {
            std::thread::yield_now();
        }
    }

    fn unpark(self) {
        self.0.unpark();
    }
}
