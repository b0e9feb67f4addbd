//! A pool of threads for this crate's tests: intrusive queues, parkers of mutex and condition
//! variable, and deques of either storage. With fixed deques no path allocates. Under loom too.

// loom's `thread_local` takes no constants.
#![allow(clippy::missing_const_for_thread_local)]

use std::{
    any::Any,
    boxed::Box,
    cell::Cell,
    marker::PhantomData,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    ptr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};
#[cfg(not(loom))]
use std::{thread, thread_local};

#[cfg(loom)]
use ::loom::{thread, thread_local};

use deque_core::{Deque, Fixed, Growable, Order, Storage};
use progress_core::{AsymmetricFence, FullFences, Participant, Progress};

use crate::{
    DeadlockDetection, Injectors, JobRef, ManagedWorker, NoDeadlockDetection, Platform, Registry,
    Replaced, WorkerIndex, WorkerShared, WorkerThread,
};

#[cfg(feature = "deadlock")]
pub(crate) mod accounting;
mod own_thread;
mod parker;
mod protocol;
mod queue;
mod worker;

pub(crate) use own_thread::*;
#[cfg(not(any(loom, miri)))]
pub(crate) use parker::PARK_PANICS;
pub(crate) use parker::{TestParker, TestWaiter};
#[cfg(not(loom))]
pub(crate) use protocol::{TestBusy, TestClassic, TestHints};
pub(crate) use protocol::{TestJec, TestProtocol};
pub(crate) use queue::{BUSY, TestQueue};
#[cfg(not(loom))]
pub(crate) use worker::workers;
#[cfg(loom)]
pub(crate) use worker::{model, spawn_other};
pub(crate) use worker::{run_until_stopped, run_until_terminated, with_worker};

thread_local! {
    static CURRENT: Cell<*const ()> = Cell::new(ptr::null());
}

/// Counts, but not in models, where each count would be one more step to interleave.
#[cfg(not(loom))]
pub(crate) type TestObserver = crate::WorkerCounters;
#[cfg(loom)]
pub(crate) type TestObserver = crate::NoMetrics;

/// Small, so that tests meet its limit.
pub(crate) const DEQUE_CAPACITY: usize = if cfg!(loom) { 2 } else { 8 };

/// A platform of threads whose deques have this storage, whose workers sleep by this protocol, and
/// whose deadlocks are detected by this.
pub(crate) struct TestOn<S, K = TestJec, D = NoDeadlockDetection>(PhantomData<(S, K, D)>);

/// With deques of fixed size.
pub(crate) type Test = TestOn<Fixed<JobRef, DEQUE_CAPACITY>>;

/// With the accounting of blocked workers.
#[cfg(feature = "deadlock")]
pub(crate) type Accounted<K = TestJec> =
    TestOn<Fixed<JobRef, DEQUE_CAPACITY>, K, accounting::TestAccounting>;

/// With workers that all wake up together.
#[cfg(not(loom))]
pub(crate) type TestTogether = TestOn<Fixed<JobRef, DEQUE_CAPACITY>, TestClassic>;

/// With workers that wake up with hints.
#[cfg(not(loom))]
pub(crate) type TestHinted = TestOn<Fixed<JobRef, DEQUE_CAPACITY>, TestHints>;

/// With workers that never sleep.
#[cfg(not(loom))]
pub(crate) type TestAwake = TestOn<Fixed<JobRef, DEQUE_CAPACITY>, TestBusy>;

/// With deques that grow; no model has them.
#[cfg(not(loom))]
pub(crate) type Growing<K = TestJec> = TestOn<Growable<JobRef>, K>;

/// A storage that tests run on.
pub(crate) trait TestStorage: Storage<JobRef> + Send + Sync + Sized + 'static {
    fn deque() -> Deque<JobRef, Self>;

    fn free_later<K: TestProtocol, D: TestDetection>(
        worker: &mut ManagedWorker<TestOn<Self, K, D>>,
        replaced: Self::Replaced,
    );
}

impl<const CAPACITY: usize> TestStorage for Fixed<JobRef, CAPACITY> {
    fn deque() -> Deque<JobRef, Self> {
        Deque::fixed(Order::Lifo)
    }

    fn free_later<K: TestProtocol, D: TestDetection>(
        _worker: &mut ManagedWorker<TestOn<Self, K, D>>,
        replaced: Self::Replaced,
    ) {
        match replaced {}
    }
}

impl TestStorage for Growable<JobRef> {
    fn deque() -> Deque<JobRef, Self> {
        Deque::growable(Order::Lifo)
    }

    fn free_later<K: TestProtocol, D: TestDetection>(
        worker: &mut ManagedWorker<TestOn<Self, K, D>>,
        replaced: Self::Replaced,
    ) {
        worker.defer(move || drop(replaced));
    }
}

/// A detection of deadlocks that tests run on.
pub(crate) trait TestDetection: DeadlockDetection + Sized + 'static {
    fn new(workers: usize) -> Self;
}

impl TestDetection for NoDeadlockDetection {
    fn new(_workers: usize) -> Self {
        Self
    }
}

/// A platform that tests run on.
pub(crate) trait TestPlatform: Platform<Panic = Box<dyn Any + Send>> {
    /// Creates a pool without threads.
    fn registry(workers: usize) -> Arc<Registry<Self>>;
}

impl<S: TestStorage, K: TestProtocol, D: TestDetection> TestPlatform for TestOn<S, K, D> {
    fn registry(workers: usize) -> Arc<Registry<Self>> {
        registry_with(workers, S::deque, D::new(workers))
    }
}

/// Creates a pool without threads whose workers have these deques.
#[cfg(not(loom))]
pub(crate) fn registry_of<S: TestStorage, K: TestProtocol>(
    workers: usize,
    deque: impl Fn() -> Deque<JobRef, S>,
) -> Arc<Registry<TestOn<S, K>>> {
    registry_with(workers, deque, NoDeadlockDetection)
}

/// Creates a pool without threads whose workers have these deques, and whose deadlocks are detected
/// so.
pub(crate) fn registry_with<S: TestStorage, K: TestProtocol, D: TestDetection>(
    workers: usize,
    deque: impl Fn() -> Deque<JobRef, S>,
    detection: D,
) -> Arc<Registry<TestOn<S, K, D>>> {
    let shared = (0..workers)
        .map(|_| {
            let (inbox, fifo) = (TestQueue::new(), TestQueue::new());
            // SAFETY: 1. tests give new deques.
            unsafe { WorkerShared::new(deque(), inbox, fifo, TestObserver::new()) }
        })
        .collect();
    let sleep = K::new((0..workers).map(|_| TestParker::new()));
    let participants = (0..workers)
        .map(|_| Participant::new(TestParker::new()))
        .collect();
    let progress = Progress::new(participants);
    let injectors = Injectors::new(
        TestQueue::unobserved(),
        TestQueue::new(),
        TestQueue::unobserved(),
    );
    let registry = Arc::new(Registry::new(
        sleep,
        shared,
        progress,
        injectors,
        detection,
        AtomicBool::new(false),
    ));
    assert!(registry.is_consistent());
    registry
}

/// Full fences that a test can observe.
pub(crate) enum TestFences {}

// SAFETY: 1. and 2. both are full fences; 3. no observer unwinds.
unsafe impl AsymmetricFence for TestFences {
    #[inline]
    fn light() {
        FullFences::light();
    }

    fn heavy() -> bool {
        #[cfg(not(loom))]
        observed(Event::HeavyFence);
        FullFences::heavy()
    }
}

// SAFETY: 1. both use the same thread-local; 2. registries are in `Arc`s, and the value is one; 3.
// that is what the standard library's function does; 4. it defers the drop, or there is none; 5.
// nothing here panics.
unsafe impl<S: TestStorage, K: TestProtocol, D: TestDetection> Platform for TestOn<S, K, D> {
    type Parker = TestParker;
    type Sleep = K;
    type Workers = Box<[WorkerShared<Self>]>;
    type Storage = S;
    type Progress = (TestParker, Box<[Participant<TestParker>]>, TestFences);
    type Queue = TestQueue;
    type Waiter = TestWaiter;
    type Observer = TestObserver;
    type Deadlock = D;
    type Panic = Box<dyn Any + Send>;
    /// Whether the pool has guests.
    type Data = AtomicBool;
    type KeepAlive = Arc<Registry<Self>>;

    fn current() -> *const WorkerThread<Self> {
        // SAFETY: 1. only workers of this crate's test platforms are set, and they stay in place
        // until they leave.
        unsafe { WorkerThread::downcast(CURRENT.with(Cell::get)) }
    }

    unsafe fn set_current(worker: *const WorkerThread<Self>) {
        CURRENT.with(|current| current.set(worker.cast()));
    }

    fn catch_unwind<R>(closure: impl FnOnce() -> R) -> Result<R, Self::Panic> {
        catch_unwind(AssertUnwindSafe(closure))
    }

    fn resume_unwind(panic: Self::Panic) -> ! {
        resume_unwind(panic)
    }

    unsafe fn keep_alive(registry: *const Registry<Self>) -> Self::KeepAlive {
        #[cfg(not(loom))]
        observed(Event::KeepAlive);
        // SAFETY: every registry is in an `Arc`, by obligation 1 this one lives, and by 2. the
        // pointer is the `Arc`'s own.
        unsafe {
            Arc::increment_strong_count(registry);
            Arc::from_raw(registry)
        }
    }

    fn free_later(worker: &mut ManagedWorker<Self>, replaced: Replaced<Self>) {
        S::free_later::<K, D>(worker, replaced);
    }

    fn on_reference_removed(registry: &Registry<Self>) {
        FEWEST_REFERENCES.set(FEWEST_REFERENCES.get().min(registry.num_references()));
    }

    fn fence_before_sleep(_registry: &Registry<Self>) -> bool {
        #[cfg(not(loom))]
        observed(Event::ProcessFence);
        HAS_PROCESS_FENCE.with(Cell::get)
    }

    fn has_guests(registry: &Registry<Self>) -> bool {
        registry.data().load(Relaxed)
    }

    fn parallelism(_registry: &Registry<Self>) -> usize {
        PARALLELISM.with(Cell::get)
    }

    fn random_seed(_registry: &Registry<Self>, _worker: WorkerIndex) -> u64 {
        RANDOM_SEED.with(Cell::get)
    }

    #[cfg(not(loom))]
    fn now() -> Option<u64> {
        NOW.with(Cell::get)
    }
}

/// Creates a pool without threads.
pub(crate) fn registry<P: TestPlatform>(workers: usize) -> Arc<Registry<P>> {
    P::registry(workers)
}

/// Runs `body` with a pool, then ends the pool and waits for its threads.
pub(crate) fn with_pool<R>(workers: usize, body: impl FnOnce(&Arc<Registry<Test>>) -> R) -> R {
    with_pool_on(workers, body)
}

/// Runs `body` with a pool as [`with_pool`] does, on any platform.
pub(crate) fn with_pool_on<P: TestPlatform, R>(
    workers: usize,
    body: impl FnOnce(&Arc<Registry<P>>) -> R,
) -> R {
    with_registry(&P::registry(workers), body)
}

/// Runs `body` with a pool as [`with_pool`] does, on a pool that has no threads yet.
pub(crate) fn with_registry<P: TestPlatform, R>(
    registry: &Arc<Registry<P>>,
    body: impl FnOnce(&Arc<Registry<P>>) -> R,
) -> R {
    let threads: std::vec::Vec<_> = (0..registry.num_workers())
        .map(|index| {
            let registry = registry.clone();
            thread::spawn(move || {
                let index = registry.worker(index).unwrap();
                // SAFETY: 1. this closure holds the registry; 2. it is the `Arc`'s pointer.
                let worker = unsafe { WorkerThread::new(Arc::as_ptr(&registry), index) }.unwrap();
                // SAFETY: 1. it stays until it leaves.
                unsafe { worker.enter() };
                run_until_terminated(&worker);
                worker.leave();
            })
        })
        .collect();
    // The pool must end also if the test fails, or its threads would be waited for in vain.
    let result = catch_unwind(AssertUnwindSafe(|| body(registry)));
    registry.remove_reference();
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!((registry.num_inactive(), registry.num_sleeping()), (0, 0));
    result.unwrap_or_else(|panic| resume_unwind(panic))
}

/// Runs generic tests on one platform.
#[cfg(not(loom))]
macro_rules! on_platform {
    ($name:ident, $platform:ty: $($test:ident)*) => {
        mod $name {
            $(
                #[test]
                fn $test() {
                    super::$test::<$platform>();
                }
            )*
        }
    };
}
#[cfg(not(loom))]
pub(crate) use on_platform;
