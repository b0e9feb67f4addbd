//! Waiting for a future, without a runtime.

use std::{
    mem,
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
};

use pool_core::Isolation;

use crate::{
    driver::{self, Signal},
    platform::WorkerThread,
    seeded::point_if_seeded,
    sync::{Mutex, lock},
};

#[cfg(test)]
mod tests;

/// Waits for a future, and returns its output.
///
/// A worker runs other jobs between polls, and sleeps when there are none. Any other thread blocks.
///
/// The future is polled on this thread, first immediately and then each time it is woken. The other
/// jobs run on the same stack. So two jobs that wait for each other's futures may wait forever,
/// because one may have been started while the other waited. In an [isolated](crate::isolate) call,
/// the worker runs only its broadcast jobs, and jobs that other threads spawn in scopes opened by
/// its own job. The latter have to wait as long as the future wakes itself in each poll.
///
/// # Panics
/// Resumes a panic of the future.
///
/// # Examples
/// ```
/// let sum = pool_std::block_on(async {
///     let left = pool_std::spawn_handle(|| 1 + 2);
///     let right = pool_std::spawn_handle(|| 3 + 4);
///     left.await.unwrap() + right.await.unwrap()
/// });
/// assert_eq!(sum, 10);
/// ```
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let alarm = Arc::<Alarm>::default();
    let waker = Waker::from(alarm.clone());
    let mut context = Context::from_waker(&waker);
    // Asked once, here: a wait deeper in the stack may be isolated although this one is not, and
    // the polls would not have prepared for that.
    let isolation = driver::current_isolation();
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        alarm.wait(isolation);
    }
}

/// What wakes a thread that waits for a future.
#[derive(Default)]
struct Alarm(Mutex<State>);

#[derive(Default)]
enum State {
    /// It has not rung, and the thread does not wait.
    #[default]
    Quiet,
    /// It has rung since the last wait.
    Rung,
    /// The thread waits.
    Waiting(Signal),
}

impl Alarm {
    /// Waits until it rings, or returns at once if it has rung since the last wait.
    fn wait(&self, isolation: Isolation) {
        let has_rung = matches!(*lock(&self.0), State::Rung);
        // SAFETY: 1. the reference is used in this function, during which the thread stays the
        // worker.
        let worker = unsafe { WorkerThread::current() };
        if let Some(worker) = worker.filter(|_| has_rung) {
            // A future that wakes itself may wait for a job that no other worker runs.
            let has_run = match isolation {
                Isolation::Anything => worker.help(),
                _ => {
                    worker.run_inbox_jobs();
                    false
                }
            };
            if !has_run {
                // Or for what a job on another worker does.
                point_if_seeded(worker);
            }
        }
        // Liveness: the future keeps the waker, whose call sets the signal. If it drops the waker
        // instead, this thread waits for good, as with every runtime.
        driver::wait_for_job(isolation, |signal| {
            let mut state = lock(&self.0);
            match mem::take(&mut *state) {
                // The signal is dropped, which ends the wait.
                State::Rung => {}
                _ => *state = State::Waiting(signal),
            }
        });
    }

    fn ring(&self) {
        let mut state = lock(&self.0);
        match mem::take(&mut *state) {
            State::Waiting(signal) => {
                // Setting it runs code of the user, such as a parker, which may ring this alarm.
                drop(state);
                signal.set();
            }
            _ => *state = State::Rung,
        }
    }
}

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        self.ring();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.ring();
    }
}
