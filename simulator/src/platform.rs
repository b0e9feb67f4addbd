//! The platform of `pool-core` on a virtual machine. It is built as that of `pool-std`: deques that
//! grow, with pops without a fence, and an injector with memory of its own.

use std::{
    any::Any,
    marker::PhantomData,
    num::NonZeroU32,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    ptr::NonNull,
    sync::Arc,
};

use deque_core::{Growable, Injector};
use pool_core::{
    FencePrice, JobQueue, JobRef, ManagedWorker, NoDeadlockDetection, Parker, Platform, Registry,
    Replaced, Steal, Waiter, WorkerIndex, WorkerShared, WorkerThread,
    progress::{AsymmetricFence, Participant},
};
use sleep_primitives::{AtomicU8, Ordering};

use crate::{machine, observer::VirtualObserver, protocol::Protocol};

/// No token.
const EMPTY: u8 = 0;
/// The thread waits in the system.
const PARKED: u8 = 1;
/// A token.
const NOTIFIED: u8 = 2;

/// Parks a thread of the virtual machine, as a futex does: a thread that is not parked is woken
/// without a system call.
#[derive(Debug)]
pub struct VirtualParker {
    thread: usize,
    state: AtomicU8,
}

impl VirtualParker {
    /// Creates the parker of the thread with this number.
    #[must_use]
    pub const fn new(thread: usize) -> Self {
        Self {
            thread,
            state: AtomicU8::new(EMPTY),
        }
    }
}

impl Parker for VirtualParker {
    fn park(&self) {
        // Ordering: Acquire pairs with the Release of `unpark`, here and below.
        let parked =
            self.state
                .compare_exchange(EMPTY, PARKED, Ordering::Acquire, Ordering::Acquire);
        if parked.is_ok() {
            // Liveness: no other thread runs between the exchange and the state of the machine, so
            // a waker that finds PARKED finds the thread parked in the machine too.
            machine::park();
        }
        self.state.swap(EMPTY, Ordering::Acquire);
    }

    fn unpark(&self) {
        // Ordering: Release pairs with `park`.
        if self.state.swap(NOTIFIED, Ordering::Release) == PARKED {
            machine::wake(self.thread);
        }
    }

    fn relax(&self) {
        machine::yield_now();
    }

    fn now(&self) -> Option<u64> {
        Some(machine::now() / crate::cost::NS)
    }
}

/// A thread that waits outside the pool.
#[derive(Debug)]
pub struct VirtualWaiter(Arc<VirtualParker>);

std::thread_local! {
    /// One for each thread of the machine.
    static WAITERS: std::cell::RefCell<std::collections::BTreeMap<usize, Arc<VirtualParker>>> =
        const { std::cell::RefCell::new(std::collections::BTreeMap::new()) };
}

fn waiter() -> Arc<VirtualParker> {
    let thread = machine::current();
    WAITERS.with_borrow_mut(|waiters| {
        waiters
            .entry(thread)
            .or_insert_with(|| Arc::new(VirtualParker::new(thread)))
            .clone()
    })
}

/// Forgets the waiters of the last run on this thread.
pub(crate) fn forget_waiters() {
    WAITERS.with_borrow_mut(std::collections::BTreeMap::clear);
}

impl Waiter for VirtualWaiter {
    fn current() -> Self {
        Self(waiter())
    }

    fn park() {
        waiter().park();
    }

    fn unpark(self) {
        self.0.unpark();
    }
}

/// The fence of the virtual system for all threads: `membarrier`.
#[derive(Debug, Clone, Copy)]
pub enum VirtualFence {}

// SAFETY: all virtual threads take turns on one real thread, whose accesses are in one order.
// Obligation 3: neither function unwinds.
unsafe impl AsymmetricFence for VirtualFence {
    fn light() {}

    fn heavy() -> bool {
        machine::process_fence();
        true
    }
}

// SAFETY: 1. as above; 2. the function does not unwind.
unsafe impl FencePrice for VirtualFence {
    fn price() -> Option<NonZeroU32> {
        NonZeroU32::new(machine::price_of_process_fence())
    }
}

/// The queue of jobs from outside, and of those for one worker alone.
#[derive(Debug)]
pub struct Queue(Injector<JobRef>);

impl Queue {
    /// Creates an empty queue.
    #[must_use]
    pub const fn new() -> Self {
        Self(Injector::new())
    }
}

impl Default for Queue {
    fn default() -> Self {
        Self::new()
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

/// The world of a pool on a virtual machine, whose workers sleep by the protocol `K`.
#[derive(Debug)]
pub struct Virtual<K>(PhantomData<K>);

// SAFETY: 1. both functions use the same word of the running thread; 2. registries are in `Arc`s,
// and the value is one;
// 3. that is what the standard library's function does; 4. the drop is deferred; 5. nothing here
//    panics.
unsafe impl<K: Protocol> Platform for Virtual<K> {
    type Parker = VirtualParker;
    type Sleep = K;
    type Workers = Box<[WorkerShared<Self>]>;
    type Storage = Growable<JobRef>;
    type Progress = (
        VirtualParker,
        Box<[Participant<VirtualParker>]>,
        VirtualFence,
    );
    type Queue = Queue;
    type Waiter = VirtualWaiter;
    type Observer = VirtualObserver;
    type Deadlock = NoDeadlockDetection;
    type Panic = Box<dyn Any + Send>;
    type Data = ();
    type KeepAlive = Arc<Registry<Self>>;

    fn current() -> *const WorkerThread<Self> {
        machine::local().cast()
    }

    unsafe fn set_current(worker: *const WorkerThread<Self>) {
        machine::set_local(worker.cast());
    }

    fn catch_unwind<R>(closure: impl FnOnce() -> R) -> Result<R, Self::Panic> {
        catch_unwind(AssertUnwindSafe(closure))
    }

    fn resume_unwind(panic: Self::Panic) -> ! {
        resume_unwind(panic)
    }

    unsafe fn keep_alive(registry: *const Registry<Self>) -> Arc<Registry<Self>> {
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

    /// No worker blocks, so no watchdog is needed.
    fn parallelism(_registry: &Registry<Self>) -> usize {
        machine::processors()
    }

    fn random_seed(_registry: &Registry<Self>, _worker: WorkerIndex) -> u64 {
        machine::random()
    }

    fn now() -> Option<u64> {
        Some(machine::now() / crate::cost::NS)
    }
}
