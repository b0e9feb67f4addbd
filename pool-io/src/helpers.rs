//! The backend of threads that make blocking system calls.
//!
//! A few *helpers* take operations from one queue and make their calls, which may block for as long
//! as a disk needs. The *poller* holds the transfers of streams, which may wait without limit,
//! until `poll` reports that they are ready; then it queues them. It starts another helper when all
//! helpers are blocked for a long time, see [`growth`].
//!
//! A transfer of a stream that need not wait is made by the thread that starts the operation.
//!
//! So a read of a silent pipe occupies no helper and can be cancelled, if the system can refuse to
//! wait (`RWF_NOWAIT`). On a kernel that cannot, a stream with two readers may make a helper wait:
//! both find the stream ready, and one of them takes the bytes. The `open` of a FIFO makes a helper
//! wait on every kernel.

use std::{
    collections::VecDeque,
    io, mem,
    sync::{Arc, Condvar, Mutex, PoisonError},
    time::Instant,
};

use pool_std::driver::{Pool, Process};

use crate::{
    call::Call,
    operation::{Operation, follow},
    system::{self, EventCounter, lock},
};

mod growth;
mod noise;
#[cfg(test)]
mod tests;
use growth::Watch;
use noise::Noise;

/// The number of helpers that a pool has at first.
const HELPERS: usize = 4;

/// The maximum number of helpers of a pool, and so of calls that block at the same time.
const MOST_HELPERS: usize = 64;

/// Threads that make blocking system calls.
pub(crate) struct Helpers {
    state: Mutex<State>,
    /// Notified when an operation is queued, and when the pool has ended.
    is_queued: Condvar,
    /// Increased when there is something for the poller.
    poke: EventCounter,
    process: Process,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Arc<Operation>>,
    /// The operations that the poller has not seen yet.
    to_poll: Vec<Arc<Operation>>,
    helpers: usize,
    /// The number of helpers that wait for an operation.
    idle: usize,
    /// The number of operations that the helpers have taken from the queue. Wraps.
    taken: usize,
    /// Whether the poller watches whether the queue advances.
    is_watched: bool,
    has_ended: bool,
}

impl Helpers {
    /// # Errors
    /// If the system refuses the descriptor that wakes the poller.
    pub(super) fn new() -> io::Result<Arc<Self>> {
        Ok(Arc::new(Self {
            state: Mutex::default(),
            is_queued: Condvar::new(),
            poke: EventCounter::new()?,
            process: Process::current(),
        }))
    }

    /// Starts the threads.
    ///
    /// # Errors
    /// If the system refuses a thread. The threads that already run end.
    pub(super) fn start(self: &Arc<Self>, pool: Pool<'_>) -> io::Result<()> {
        let helpers = (0..HELPERS).try_for_each(|_| self.start_helper(pool));
        let this = self.clone();
        helpers
            .and_then(|()| pool.spawn_thread("pool-io-poll", move |pool| this.poll(pool)))
            .inspect_err(|_| self.end())
    }

    /// Starts one more helper.
    ///
    /// # Errors
    /// If the system refuses the thread.
    fn start_helper(self: &Arc<Self>, pool: Pool<'_>) -> io::Result<()> {
        let this = self.clone();
        let number = lock(&self.state).helpers;
        let name = format!("pool-io-{number}");
        pool.spawn_thread(&name, move |pool| this.help(pool))?;
        lock(&self.state).helpers += 1;
        Ok(())
    }

    /// Takes an operation that has not been concluded yet.
    pub(super) fn submit(&self, operation: Arc<Operation>) {
        // The caller keeps the pool from ending.
        self.enqueue(&mut lock(&self.state), operation);
    }

    fn enqueue(&self, state: &mut State, operation: Arc<Operation>) {
        if operation.is_polling() {
            state.to_poll.push(operation);
            self.poke.increase();
        } else {
            state.queue.push_back(operation);
            self.is_queued.notify_one();
            if state.needs_watch() {
                state.is_watched = true;
                self.poke.increase();
            }
        }
    }

    /// Makes the poller end a cancelled operation early, unless a helper has begun it. Does nothing
    /// in a child of the process, where a thread of the parent may hold the lock.
    pub(super) fn cancel(&self, operation: &Arc<Operation>) {
        if self.process != Process::current() {
            return;
        }
        let state = &mut *lock(&self.state);
        let place = state
            .queue
            .iter()
            .position(|queued| Arc::ptr_eq(queued, operation));
        // All helpers may be blocked for a long time.
        state
            .to_poll
            .extend(place.and_then(|place| state.queue.remove(place)));
        self.poke.increase();
    }

    /// Ends the threads. Operations that no thread has begun end with `ECANCELED`.
    pub(super) fn end(&self) {
        lock(&self.state).has_ended = true;
        self.is_queued.notify_all();
        self.poke.increase();
    }

    fn help(&self, pool: Pool<'_>) {
        while let Some(operation) = self.next() {
            let result = match operation.call() {
                // SAFETY: 1. the operation keeps what the call refers to until it is concluded
                // below, and only the thread that took it from the queue has it.
                Ok(call) => unsafe { call.execute() },
                Err(error) => Err(error),
            };
            if follow(pool, operation.conclude_own_call(result)) {
                self.submit_again(pool, operation);
            }
        }
        // The pool has ended.
        loop {
            let operation = lock(&self.state).queue.pop_front();
            match operation {
                Some(operation) => _ = follow(pool, operation.abandon()),
                None => break,
            }
        }
    }

    /// Submits an operation again from one of the threads, if any of the threads will look at the
    /// queue.
    fn submit_again(&self, pool: Pool<'_>, operation: Arc<Operation>) {
        let mut state = lock(&self.state);
        if state.has_ended {
            drop(state);
            follow(pool, operation.abandon());
        } else {
            // This is under the same lock as the check: every thread looks once more after the end.
            self.enqueue(&mut state, operation);
        }
    }

    /// Waits for an operation. Returns `None` if the pool has ended.
    fn next(&self) -> Option<Arc<Operation>> {
        // Liveness: an operation is queued under the lock before the notification, and so is the
        // end.
        let mut state = lock(&self.state);
        state.idle += 1;
        let state = self
            .is_queued
            .wait_while(state, |state| state.queue.is_empty() && !state.has_ended);
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        state.idle -= 1;
        if state.has_ended {
            return None;
        }
        state.taken = state.taken.wrapping_add(1);
        state.queue.pop_front()
    }

    fn poll(self: &Arc<Self>, pool: Pool<'_>) {
        let mut waiting: Vec<Arc<Operation>> = Vec::new();
        let mut watch = Watch::default();
        let mut noise = Noise::default();
        loop {
            let now = Instant::now();
            noise.begin(now);
            let mut state = lock(&self.state);
            waiting.append(&mut state.to_poll);
            let has_ended = state.has_ended;
            if has_ended {
                // All helpers may be blocked for a long time. From here on, a cancel finds no
                // operation that it could leave to this thread.
                waiting.extend(mem::take(&mut state.queue));
            }
            let is_stalled = watch.is_stalled(&mut state, now);
            drop(state);
            if is_stalled {
                // If the system refuses the thread, the next look tries again.
                let _ = self.start_helper(pool);
            }
            // The calls of the operations that still wait. The others are concluded.
            let mut descriptors = vec![libc::pollfd {
                fd: self.poke.raw(),
                events: libc::POLLIN,
                revents: 0,
            }];
            for operation in mem::take(&mut waiting) {
                let next = match operation.call() {
                    Ok(call) if !has_ended => {
                        descriptors.push(match call {
                            Call::Poll { is_noisy: true, .. } => {
                                noise.prepare(call.readiness(), now)
                            }
                            _ => call.readiness(),
                        });
                        waiting.push(operation);
                        continue;
                    }
                    Ok(_) => operation.abandon(),
                    Err(error) => operation.conclude(Err(error)),
                };
                if follow(pool, next) {
                    self.submit_again(pool, operation);
                }
            }
            if has_ended {
                return;
            }
            // Liveness: each change for this thread (a new operation, a cancelled one, a queue to
            // watch, the end) is stored before the counter is increased. The counter stays above
            // zero until we have reset it, and after that we look.
            system::poll(&mut descriptors, noise.limit(watch.milliseconds()));
            if descriptors[0].revents != 0 {
                // This must not wait: the counter is not known to be above zero if nothing could be
                // polled.
                self.poke.wait_and_reset_within(0);
            }
            let mut ready = descriptors[1..].iter().map(|polled| polled.revents != 0);
            let is_ready = |_: &mut Arc<Operation>| ready.next().unwrap_or(false);
            for operation in waiting.extract_if(.., is_ready).collect::<Vec<_>>() {
                if follow(pool, operation.conclude(Ok(0))) {
                    self.submit_again(pool, operation);
                }
            }
        }
    }
}
