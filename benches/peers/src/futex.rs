//! A thread that sleeps on a futex: what a hand-over costs without any pool.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
        mpsc::{self, Receiver, Sender},
    },
    thread,
    time::{Duration, Instant},
};

use rustix::thread::futex;

use crate::pools::Pool;

const ASLEEP: u32 = 0;
const WOKEN: u32 = 1;

/// A thread that sleeps until it is woken, and then does one thing.
pub(crate) struct Sleeper {
    state: Arc<AtomicU32>,
}

impl Sleeper {
    /// Starts the thread; it ends with the process, or when `then` returns false.
    pub(crate) fn start(mut then: impl FnMut() -> bool + Send + 'static) -> Self {
        let state = Arc::new(AtomicU32::new(ASLEEP));
        let sleeper = Self {
            state: state.clone(),
        };
        thread::spawn(move || {
            loop {
                sleep(&state);
                if !then() {
                    return;
                }
            }
        });
        sleeper
    }

    /// Wakes it. What the caller did before is visible to the thread.
    pub(crate) fn wake(&self) {
        // Ordering: Release pairs with the Acquire in `sleep`.
        self.state.store(WOKEN, Ordering::Release);
        futex::wake(&self.state, futex::Flags::PRIVATE, 1).expect("a valid call");
    }
}

fn sleep(state: &AtomicU32) {
    // Ordering: Acquire pairs with the Release in `wake`.
    while state.swap(ASLEEP, Ordering::Acquire) == ASLEEP {
        // Liveness: the kernel compares before it puts us to sleep, and `wake` stores before it
        // wakes. Errors (the word has changed, a signal) mean that we look again.
        let _ = futex::wait(state, futex::Flags::PRIVATE, ASLEEP, None);
    }
}

/// A sleeper that says when it is awake.
pub(crate) struct Timed {
    sleeper: Sleeper,
    awake: Receiver<Instant>,
}

impl Timed {
    /// Starts the thread, which yields so often before it sleeps again.
    pub(crate) fn start(yields: u32) -> Self {
        let (sender, awake) = mpsc::channel();
        let sleeper = Sleeper::start(move || {
            let is_sent = sender.send(Instant::now()).is_ok();
            (0..yields).for_each(|_| thread::yield_now());
            is_sent
        });
        Self { sleeper, awake }
    }

    /// Wakes it; returns how long it took until it was awake.
    pub(crate) fn wake(&self) -> Duration {
        let start = Instant::now();
        self.sleeper.wake();
        let awake = self.awake.recv().expect("it does not end");
        awake - start
    }
}

type Job = Box<dyn FnOnce() + Send>;

/// A sleeper that runs jobs, in place of a pool that has so many threads.
pub(crate) struct OneThread {
    sleeper: Sleeper,
    jobs: Sender<Job>,
}

impl Pool for OneThread {
    const SYSTEM: &str = "raw-futex";

    fn new(_threads: usize) -> Self {
        let (jobs, queue) = mpsc::channel::<Job>();
        let sleeper = Sleeper::start(move || {
            queue.try_iter().for_each(|job| job());
            true
        });
        Self { sleeper, jobs }
    }
}

impl OneThread {
    pub(crate) fn spawn(&self, job: impl FnOnce() + Send + 'static) {
        let is_sent = self.jobs.send(Box::new(job)).is_ok();
        assert!(is_sent, "it does not end");
        self.sleeper.wake();
    }
}
