//! A pool of two threads: the smallest platform.

use std::{
    any::Any,
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    ptr,
    sync::{Arc, Condvar, Mutex},
    thread,
};

use deque_core::{Deque, Fixed, Order};
use pool_core::{
    IdlePolicy, Injectors, Jec, JobInjector, JobRef, ManagedWorker, NoDeadlockDetection, Parker,
    Platform, Registry, Replaced, Slot, Waiter, WorkerCounters, WorkerIndex, WorkerShared,
    WorkerThread,
    progress::{Participant, Progress},
};

thread_local! {
    static CURRENT: Cell<*const WorkerThread<Threads>> = const { Cell::new(ptr::null()) };
}

/// Two threads of the standard library.
struct Threads;

// SAFETY: 1. both use one thread-local. 2. Registries are in `Arc`s, and the value is one. 3. That
// is what the function of the standard library does. 4. Deques of a fixed size replace nothing.
// 5. Nothing else here unwinds.
unsafe impl Platform for Threads {
    type Parker = Token;
    type Sleep = Jec<Box<[Slot<Token>]>>;
    type Workers = Box<[WorkerShared<Self>]>;
    type Storage = Fixed<JobRef, 256>;
    type Progress = (Token, Box<[Participant<Token>]>);
    type Queue = JobInjector;
    type Waiter = OutsideThread;
    type Observer = WorkerCounters;
    type Deadlock = NoDeadlockDetection;
    type Panic = Box<dyn Any + Send>;
    type Data = ();
    type KeepAlive = Arc<Registry<Self>>;

    fn current() -> *const WorkerThread<Self> {
        CURRENT.get()
    }

    unsafe fn set_current(worker: *const WorkerThread<Self>) {
        CURRENT.set(worker);
    }

    fn catch_unwind<R>(closure: impl FnOnce() -> R) -> Result<R, Self::Panic> {
        catch_unwind(AssertUnwindSafe(closure))
    }

    fn resume_unwind(panic: Self::Panic) -> ! {
        resume_unwind(panic)
    }

    unsafe fn keep_alive(registry: *const Registry<Self>) -> Self::KeepAlive {
        // SAFETY: each registry is in an `Arc`; obligations 1 and 2.
        unsafe {
            Arc::increment_strong_count(registry);
            Arc::from_raw(registry)
        }
    }

    fn free_later(_worker: &mut ManagedWorker<Self>, replaced: Replaced<Self>) {
        match replaced {}
    }

    fn random_seed(_registry: &Registry<Self>, worker: WorkerIndex) -> u64 {
        worker.get() as u64 + 1
    }
}

/// How a worker sleeps.
#[derive(Default)]
struct Token(Mutex<bool>, Condvar);

impl Parker for Token {
    fn park(&self) {
        let is_there = self.0.lock().expect("no holder panics");
        let mut is_there = (self.1)
            .wait_while(is_there, |is_there| !*is_there)
            .expect("no holder panics");
        *is_there = false;
    }

    fn unpark(&self) {
        *self.0.lock().expect("no holder panics") = true;
        self.1.notify_one();
    }
}

/// How a thread outside the pool waits for a job.
struct OutsideThread(thread::Thread);

impl Waiter for OutsideThread {
    fn current() -> Self {
        Self(thread::current())
    }

    fn park() {
        thread::park();
    }

    fn unpark(self) {
        self.0.unpark();
    }
}

fn new_pool(workers: usize) -> Arc<Registry<Threads>> {
    let slots: Box<[_]> = (0..workers).map(|_| Slot::new(Token::default())).collect();
    let sleep = Jec::new(slots, IdlePolicy::DEFAULT).expect("they are few");
    let shared = (0..workers).map(|_| {
        let (inbox, fifo) = (JobInjector::new(), JobInjector::new());
        let deque = Deque::fixed(Order::Lifo);
        // SAFETY: 1. the deque is new.
        unsafe { WorkerShared::new(deque, inbox, fifo, WorkerCounters::new()) }
    });
    let participants = (0..workers).map(|_| Participant::new(Token::default()));
    Arc::new(Registry::new(
        sleep,
        shared.collect(),
        Progress::new(participants.collect()),
        Injectors::new(JobInjector::new(), JobInjector::new(), JobInjector::new()),
        NoDeadlockDetection,
        (),
    ))
}

/// Makes the calling thread a worker until the pool has no reference.
fn run_worker(pool: &Arc<Registry<Threads>>, index: usize) {
    let index = pool.worker(index).expect("there are as many threads");
    // SAFETY: 1. the caller has a reference to the pool. 2. It is the `Arc`'s pointer.
    let worker = unsafe { WorkerThread::new(Arc::as_ptr(pool), index) };
    let worker = worker.expect("no other thread is this worker");
    // SAFETY: 1. the worker stays in this frame until it has left.
    unsafe { worker.enter() };
    // SAFETY: 1. this platform has no guests.
    unsafe { worker.run_until_terminated() };
    worker.leave();
}

fn fib(worker: &WorkerThread<Threads>, n: u32) -> u32 {
    if n < 2 {
        return n;
    }
    let (a, b) = worker.join_context(
        |job| fib(job.worker(), n - 1),
        |job| fib(job.worker(), n - 2),
        false,
    );
    a + b
}

fn main() {
    let pool = new_pool(2);
    thread::scope(|scope| {
        for index in 0..2 {
            let pool = &pool;
            scope.spawn(move || run_worker(pool, index));
        }
        let answer = pool.in_worker(|worker, _migrated| fib(worker, 20));
        // The workers leave when the last reference is gone.
        pool.remove_reference();
        println!("fib(20) is {answer}");
        assert_eq!(answer, 6_765);
    });
}
