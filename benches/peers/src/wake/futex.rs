//! A thread that sleeps on a futex.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
        mpsc::{self, Receiver},
    },
    thread,
    time::{Duration, Instant},
};

use rustix::thread::futex;

const ASLEEP: u32 = 0;
const WOKEN: u32 = 1;

pub(super) struct Sleeper {
    state: Arc<AtomicU32>,
    awake: Receiver<Instant>,
}

impl Sleeper {
    /// Starts the thread; it ends with the process.
    pub(super) fn start() -> Self {
        let (sender, awake) = mpsc::channel();
        let state = Arc::new(AtomicU32::new(ASLEEP));
        let sleeper = Self {
            state: state.clone(),
            awake,
        };
        thread::spawn(move || {
            loop {
                sleep(&state);
                if sender.send(Instant::now()).is_err() {
                    return;
                }
            }
        });
        sleeper
    }

    /// Wakes it; returns how long it took until it was awake.
    pub(super) fn wake(&self) -> Duration {
        let start = Instant::now();
        self.state.store(WOKEN, Ordering::Relaxed);
        futex::wake(&self.state, futex::Flags::PRIVATE, 1).expect("a valid call");
        let awake = self.awake.recv().expect("it does not end");
        awake - start
    }
}

fn sleep(state: &AtomicU32) {
    while state.swap(ASLEEP, Ordering::Relaxed) == ASLEEP {
        // Liveness: the kernel compares before it puts us to sleep, and `wake` stores before it
        // wakes. Errors (the word has changed, a signal) mean that we look again.
        let _ = futex::wait(state, futex::Flags::PRIVATE, ASLEEP, None);
    }
}
