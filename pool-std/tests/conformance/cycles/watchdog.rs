//! Notices that a test hangs.

use std::{
    process,
    sync::{
        atomic::{AtomicU64, Ordering::Relaxed},
        mpsc::{self, RecvTimeoutError::Timeout},
    },
    thread,
    time::Duration,
};

const TICK: Duration = Duration::from_secs(1);
/// How long a step may take, on a slow machine that does other things.
const TICKS: u32 = 300;

/// How many steps a test has done.
#[derive(Default)]
pub(crate) struct Progress(AtomicU64);

impl Progress {
    pub(crate) fn step(&self) {
        // A counter.
        self.0.fetch_add(1, Relaxed);
    }
}

/// Runs `body` on a thread of its own. If it does no step for too long, aborts with its name.
///
/// The limit is on a step, so that it suits any number of cycles. It is counted in ticks, so that
/// the time in which the process is stopped counts as one.
pub(crate) fn watch(name: &str, body: impl FnOnce(&Progress) + Send) {
    let progress = &Progress::default();
    thread::scope(|threads| {
        let (sender, receiver) = mpsc::channel::<()>();
        let thread = threads.spawn(move || {
            body(progress);
            drop(sender);
        });
        let (mut steps, mut ticks) = (0, 0);
        while receiver.recv_timeout(TICK) == Err(Timeout) {
            let now = progress.0.load(Relaxed);
            ticks = if now == steps { ticks + 1 } else { 0 };
            steps = now;
            if ticks == TICKS {
                eprintln!("{name}: hangs after {steps} steps, a wake-up must have been lost");
                process::abort();
            }
        }
        thread.join().unwrap();
    });
}
