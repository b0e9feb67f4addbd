//! What a kernel author would write: three threads with a queue of their own, and of the
//! workspace only `sleep-core`.
//!
//! The queue is a plain locked list, the parker the thread's own. `sleep-core` decides when
//! they sleep, and wakes them.
//!
//! ```sh
//! cargo run --package sleep-core --example three_threads
//! ```

#![forbid(unsafe_code)]

use std::{
    collections::VecDeque,
    sync::{
        Mutex, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    thread::{self, Thread},
    time::Duration,
};

use sleep_core::{
    IdlePolicy, Inline, Jec, NewJobs, Parker, Purpose, SleepProtocol, Slot, StopLatch,
};

const WORKERS: usize = 3;
const BURSTS: usize = 100;
const JOBS_IN_BURST: usize = 30;

/// A thread parks itself, and is unparked through its handle, which it leaves here before it
/// begins to look for work.
struct ThreadParker {
    thread: OnceLock<Thread>,
    parks: AtomicUsize,
}

impl Parker for ThreadParker {
    fn park(&self) {
        self.parks.fetch_add(1, Ordering::Relaxed);
        thread::park();
    }

    fn unpark(&self) {
        self.thread
            .get()
            .expect("only a worker that has searched is woken")
            .unpark();
    }

    fn relax(&self) {
        thread::yield_now();
    }
}

type Job = Box<dyn FnOnce() + Send>;

static SLEEP: Jec<Inline<Slot<ThreadParker>, WORKERS>> = Jec::from_array(
    [const {
        Slot::new(ThreadParker {
            thread: OnceLock::new(),
            parks: AtomicUsize::new(0),
        })
    }; WORKERS],
    IdlePolicy::DEFAULT,
);
static QUEUE: Mutex<VecDeque<Job>> = Mutex::new(VecDeque::new());
static STOP: [StopLatch; WORKERS] = [const { StopLatch::new() }; WORKERS];
static DONE: AtomicUsize = AtomicUsize::new(0);

fn has_work() -> bool {
    !QUEUE.lock().unwrap().is_empty()
}

fn post(job: Job) {
    let queue_was_empty = {
        let mut queue = QUEUE.lock().unwrap();
        queue.push_back(job);
        queue.len() == 1
    };
    SLEEP.announce(NewJobs::injected(1, queue_was_empty));
}

fn worker(index: usize) -> usize {
    let me = SLEEP.worker(index).expect("there are three");
    let stop = &STOP[index];
    let fresh = SLEEP.parker(me).thread.set(thread::current()).is_ok();
    assert!(fresh, "each worker is one thread");
    let mut jobs = 0;
    let mut idle = SLEEP.start_looking(me, Purpose::Job);
    while !stop.probe() {
        let job = QUEUE.lock().unwrap().pop_front();
        if let Some(job) = job {
            SLEEP.work_found(idle, has_work);
            job();
            jobs += 1;
            idle = SLEEP.start_looking(me, Purpose::Job);
        } else {
            SLEEP.no_work_found(&mut idle, stop.latch(), has_work);
        }
    }
    SLEEP.work_found(idle, has_work);
    jobs
}

fn main() {
    let threads: Vec<_> = (0..WORKERS)
        .map(|index| thread::spawn(move || worker(index)))
        .collect();

    for burst in 1..=BURSTS {
        for _ in 0..JOBS_IN_BURST {
            post(Box::new(|| {
                thread::sleep(Duration::from_micros(50));
                DONE.fetch_add(1, Ordering::SeqCst);
            }));
        }
        while DONE.load(Ordering::SeqCst) < burst * JOBS_IN_BURST {
            thread::yield_now();
        }
        // The next burst finds all of them asleep.
        while SLEEP.num_sleeping() < WORKERS {
            thread::yield_now();
        }
    }

    StopLatch::set_all(&STOP, &SLEEP);
    let jobs: Vec<_> = threads
        .into_iter()
        .map(|thread| thread.join().unwrap())
        .collect();
    let parks = (0..WORKERS).map(|index| {
        let worker = SLEEP.worker(index).expect("there are three");
        SLEEP.parker(worker).parks.load(Ordering::Relaxed)
    });
    let parks: Vec<_> = parks.collect();
    println!("{BURSTS} bursts of {JOBS_IN_BURST} jobs, by worker: {jobs:?}; sleeps: {parks:?}");
    assert_eq!(jobs.iter().sum::<usize>(), BURSTS * JOBS_IN_BURST);
    // One that is quick to fall asleep may leave a whole burst to the others.
    assert!(parks.iter().all(|&parks| parks > 0), "each has slept");
}
