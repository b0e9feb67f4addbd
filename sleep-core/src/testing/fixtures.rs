//! A parker, a lock and a queue for this crate's tests, real and under loom.

#[cfg(loom)]
pub(crate) use ::loom::{
    sync::{Arc, Condvar, Mutex, MutexGuard, atomic::AtomicUsize},
    thread,
};
#[cfg(not(loom))]
pub(crate) use std::{
    sync::{Arc, Condvar, Mutex, MutexGuard, atomic::AtomicUsize},
    thread,
};

use std::{boxed::Box, vec::Vec};

use crate::{
    ArrayChannel, Busy, Classic, ClassicSlot, CoreLatch, HintSlot, Hints, IdlePolicy, Jec, NewJobs,
    Parker, Purpose, SleepProtocol, Slot, Sockets,
    deadlock::{GuardNoSend, RawMutex},
    primitive::Ordering::{Relaxed, SeqCst},
    protocol::jec::Widths,
    set_latch,
};

#[cfg(loom)]
pub(crate) mod guests;
#[cfg(loom)]
pub(crate) mod model;
mod parker;
#[cfg(loom)]
mod process_fence;
#[cfg(not(loom))]
pub(crate) mod scripted;

#[cfg(not(loom))]
pub(crate) use parker::{Counting, EarlyParker, SpinningParker, take_wakes};
pub(crate) use parker::{NewParker, TestParker};

/// The lock of the accounting: in a model, one that loom follows.
pub(crate) struct TestRawMutex {
    /// Made when it is first locked, since loom makes no mutex in a constant.
    mutex: std::sync::OnceLock<Box<Mutex<()>>>,
    /// Of the thread that has the lock.
    guard: std::cell::UnsafeCell<Option<MutexGuard<'static, ()>>>,
}

// SAFETY: only the thread that has the lock touches the guard.
unsafe impl Sync for TestRawMutex {}
// SAFETY: a mutex that is moved is not locked.
unsafe impl Send for TestRawMutex {}

// SAFETY: it locks a mutex, and keeps the guard until the unlock.
unsafe impl RawMutex for TestRawMutex {
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: Self = Self {
        mutex: std::sync::OnceLock::new(),
        guard: std::cell::UnsafeCell::new(None),
    };
    type GuardMarker = GuardNoSend;

    fn lock(&self) {
        let mutex: *const Mutex<()> = &**self.mutex.get_or_init(|| Box::new(Mutex::new(())));
        // SAFETY: the guard lives until the unlock, and a mutex that is locked is not dropped; the
        // box stays where it is. We have the lock then, so the cell is ours.
        unsafe { *self.guard.get() = Some((*mutex).lock().unwrap()) };
    }

    fn try_lock(&self) -> bool {
        self.lock();
        true
    }

    unsafe fn unlock(&self) {
        // SAFETY: the caller has the lock.
        drop(unsafe { (*self.guard.get()).take() });
    }
}

/// A protocol that tests run on.
pub(crate) trait TestProtocol: SleepProtocol + Send + Sync + Sized + 'static {
    fn new(workers: usize, policy: IdlePolicy) -> Self;
}

/// A policy that says how wide the counters of the protocol are.
pub(crate) trait TestPolicy: AsRef<IdlePolicy> + Send + Sync + 'static {
    const WIDTHS: Widths;

    fn new(policy: IdlePolicy) -> Self;
}

impl TestPolicy for IdlePolicy {
    const WIDTHS: Widths = Widths::DEFAULT;

    fn new(policy: IdlePolicy) -> Self {
        policy
    }
}

pub(crate) type TestJec<I = IdlePolicy, P = TestParker> = Jec<Box<[Slot<P>]>, I>;

impl<I: TestPolicy, P: NewParker> TestProtocol for TestJec<I, P> {
    fn new(workers: usize, policy: IdlePolicy) -> Self {
        let slots = (0..workers).map(|_| Slot::new(P::new())).collect();
        Self::with_widths(slots, I::new(policy), I::WIDTHS).unwrap()
    }
}

/// Two sockets. The second has one worker less if the number is odd.
pub(crate) type TestSockets<P = TestParker> = Sockets<Box<[TestJec<IdlePolicy, P>]>>;

impl<P: NewParker> TestProtocol for TestSockets<P> {
    fn new(workers: usize, policy: IdlePolicy) -> Self {
        let first = workers.div_ceil(2);
        let sizes = [first, workers - first];
        let sockets = sizes.into_iter().filter(|&size| size > 0);
        Self::new(
            sockets
                .map(|size| TestProtocol::new(size, policy))
                .collect(),
        )
        .unwrap()
    }
}

pub(crate) type TestClassic<P = TestParker> = Classic<Box<[ClassicSlot<P>]>>;

impl<P: NewParker> TestProtocol for TestClassic<P> {
    fn new(workers: usize, policy: IdlePolicy) -> Self {
        let slots = (0..workers).map(|_| ClassicSlot::new(P::new())).collect();
        Self::new(slots, policy)
    }
}

pub(crate) type TestBusy = Busy<TestParker, Box<[TestParker]>>;

impl TestProtocol for TestBusy {
    fn new(workers: usize, policy: IdlePolicy) -> Self {
        Self::new((0..workers).map(|_| TestParker::new()).collect(), policy)
    }
}

/// A channel for one hint, so that tests jam it.
pub(crate) type TestChannel<P = TestParker> = ArrayChannel<P, 1>;

pub(crate) type TestHints<P = TestParker> = Hints<Box<[HintSlot<TestChannel<P>>]>>;

impl<P: NewParker> TestProtocol for TestHints<P> {
    fn new(workers: usize, policy: IdlePolicy) -> Self {
        let slot = || HintSlot::new(TestChannel::new(P::new()));
        Self::new((0..workers).map(|_| slot()).collect(), policy).unwrap()
    }
}

/// A whole pool without jobs: a number of pending "jobs" stands for the injector.
pub(crate) struct Pool<S> {
    pub(crate) sleep: S,
    pub(crate) pending: AtomicUsize,
    pub(crate) finished: AtomicUsize,
    /// How many workers were woken by workers that have ended.
    #[cfg(not(loom))]
    pub(crate) wakes: AtomicUsize,
    terminate: Box<[CoreLatch]>,
    done: TestParker,
}

impl<S: TestProtocol> Pool<S> {
    pub(crate) fn new(workers: usize, policy: IdlePolicy) -> Arc<Self> {
        Arc::new(Self {
            sleep: S::new(workers, policy),
            pending: AtomicUsize::new(0),
            finished: AtomicUsize::new(0),
            #[cfg(not(loom))]
            wakes: AtomicUsize::new(0),
            terminate: (0..workers).map(|_| CoreLatch::new()).collect(),
            done: TestParker::new(),
        })
    }

    /// Starts the workers. Each runs until [`terminate`](Self::terminate).
    pub(crate) fn start(this: &Arc<Self>) -> Vec<thread::JoinHandle<()>> {
        (0..this.terminate.len())
            .map(|index| {
                let pool = this.clone();
                thread::spawn(move || pool.work(index))
            })
            .collect()
    }

    fn has_work(&self) -> bool {
        self.pending.load(Relaxed) > 0
    }

    fn take(&self) -> bool {
        self.pending
            .fetch_update(Relaxed, Relaxed, |pending| pending.checked_sub(1))
            .is_ok()
    }

    fn work(&self, index: usize) {
        let worker = self.sleep.worker(index).unwrap();
        let latch = &self.terminate[index];
        let mut idle = self.sleep.start_looking(worker, Purpose::Job);
        while !latch.probe() {
            if self.take() {
                self.sleep.work_found(idle, || self.has_work());
                self.finished.fetch_add(1, SeqCst);
                self.done.unpark();
                idle = self.sleep.start_looking(worker, Purpose::Job);
            } else {
                self.sleep
                    .no_work_found(&mut idle, latch, || self.has_work());
            }
        }
        self.sleep.work_found(idle, || self.has_work());
        #[cfg(not(loom))]
        self.wakes.fetch_add(take_wakes(), Relaxed);
    }

    /// Posts from outside, as many jobs at once.
    pub(crate) fn inject(&self, jobs: usize) {
        let before = self.pending.fetch_add(jobs, Relaxed);
        self.sleep.announce(NewJobs::injected(jobs, before == 0));
    }

    /// Waits until so many jobs have been run in all. A lost wake-up makes this hang.
    pub(crate) fn wait_for(&self, jobs: usize) {
        while self.finished.load(SeqCst) < jobs {
            self.done.park();
        }
    }

    pub(crate) fn terminate(&self) {
        for (index, latch) in self.terminate.iter().enumerate() {
            let worker = self.sleep.worker(index).unwrap();
            // SAFETY: 1. and 3. `self` holds both; 2. each worker waits on its own, 4. for this.
            unsafe { set_latch(&self.sleep, latch, worker) };
        }
    }
}
