//! How the threads of actors end when their execution has failed.

use std::{
    boxed::Box,
    cell::Cell,
    panic::resume_unwind,
    thread::{self, panicking},
    thread_local,
    time::Duration,
};

use super::Execution;

/// The panic that ends an actor of an execution that has failed.
pub(super) struct Aborted;

/// An actor that passes more points after that does not end: it waits in a destructor, as that of a
/// scope does, or it catches the panic and goes on, as a worker does with those of jobs.
const MOST_POINTS: u32 = 1_000;

/// How often the explorer asks whether an actor has ended.
const INTERVAL: Duration = Duration::from_millis(1);

thread_local! {
    static POINTS: Cell<u32> = const { Cell::new(0) };
}

impl Execution {
    /// Ends the calling actor, which has reached a point after its execution has failed. An actor
    /// that unwinds already runs to its end. One that does not end stays here for good.
    pub(super) fn end_actor(&self) {
        let points = POINTS.get() + 1;
        POINTS.set(points);
        if points > MOST_POINTS {
            self.lock().is_stuck = true;
            // Liveness: none, on purpose. The explorer does not wait for an actor that is stuck.
            loop {
                thread::park();
            }
        }
        if !panicking() {
            resume_unwind(Box::new(Aborted));
        }
    }

    /// Waits until the threads of all actors have ended, or one of them is stuck.
    pub(super) fn join_unless_stuck(&self) {
        while let Some(thread) = self.pop_thread() {
            while !thread.is_finished() {
                if self.lock().is_stuck {
                    return;
                }
                thread::sleep(INTERVAL);
            }
        }
    }
}
