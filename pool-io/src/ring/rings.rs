//! The rings of a pool, and the thread that serves those whose workers are busy.

use std::{
    io, mem,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering, fence},
    },
    task::Waker,
    time::{Duration, Instant},
};

use pool_std::driver::Pool;

use crate::{
    operation::{Next, Operation, follow},
    ring::{Completed, Ring, hint::HintPipe},
    system::{EventCounter, lock},
};

#[cfg(test)]
mod tests;

/// How many entries can be submitted by one call. More are submitted by several calls.
const ENTRIES: u32 = 64;

/// The interval in milliseconds at which operations are cancelled again that are in flight although
/// they were cancelled.
///
/// When an operation is cancelled, the kernel may be restarting it, for example a read whose bytes
/// another read has taken. Then the cancel does not find it, and the kernel does not say so.
const CANCEL_AGAIN_AFTER: libc::c_int = 50;

/// The rings of a pool: one per worker, and the completer's own.
pub(crate) struct Rings {
    rings: Box<[Ring]>,
    /// Increased by the kernel for each completion that no thread waits for, and by threads that
    /// have work for the completer.
    event: EventCounter,
    inbox: Mutex<Inbox>,
    has_ended: AtomicBool,
}

/// What other threads leave to the completer.
#[derive(Default)]
struct Inbox {
    /// Operations of threads that may end before the operation does, or that a ring has abandoned.
    operations: Vec<Arc<Operation>>,
    /// Operations to cancel.
    cancelled: Vec<Arc<Operation>>,
    /// Tasks to wake. Their wakers are code of the user.
    wakers: Vec<Waker>,
}

/// Cancelled operations that have not finished. The completer cancels them again.
struct Cancels {
    operations: Vec<Arc<Operation>>,
    /// When it last did so, or when the first of them was cancelled.
    last: Instant,
}

impl Rings {
    /// # Errors
    /// If the kernel has no rings, does not support the needed operations, or refuses rings or
    /// descriptors.
    pub(crate) fn new(workers: usize) -> io::Result<Arc<Self>> {
        let event = EventCounter::new()?;
        let rings: Box<[_]> = (0..=workers)
            .map(|_| Ring::new(ENTRIES, &event))
            .collect::<io::Result<_>>()?;
        rings[0].check_operations()?;
        Ok(Arc::new(Self {
            rings,
            event,
            inbox: Mutex::default(),
            has_ended: AtomicBool::new(false),
        }))
    }

    /// Starts the completer.
    ///
    /// # Errors
    /// If the system refuses the thread.
    pub(crate) fn start(self: &Arc<Self>, pool: Pool<'_>) -> io::Result<()> {
        #[cfg(test)]
        if tests::WITHOUT_COMPLETER.get() {
            return Ok(());
        }
        let this = self.clone();
        pool.spawn_thread("pool-io-complete", move |pool| this.complete(pool))
    }

    /// Submits an operation: on the ring of the calling worker, or else through the completer.
    /// Operations that a thread submits may be lost when the thread ends, so the completer submits
    /// them for threads outside the pool.
    pub(crate) fn submit(&self, worker: Option<usize>, operation: Arc<Operation>) {
        let Some(worker) = worker else {
            self.hand_over(operation);
            return;
        };
        let ring = &self.rings[worker];
        operation.set_ring(worker);
        let mut failed = None;
        let completed = ring.reap_after(|ring| failed = ring.submit(operation));
        if ring.is_refused() {
            // The completer repeats the submission.
            self.event.increase();
        }
        self.conclude_all(ring, completed);
        if let Some(failed) = failed {
            self.follow(failed.operation.conclude(failed.result), failed.operation);
        }
    }

    pub(crate) fn cancel(&self, operation: &Arc<Operation>) {
        // If the operation has no ring yet, it was handed to the completer, which sees the cancel
        // when it takes the operation.
        if operation.ring().is_some() {
            // The completer asks the kernel. What the kernel refuses to this thread, such as one
            // with a filter of its own, would close the ring for its worker.
            lock(&self.inbox).cancelled.push(operation.clone());
            self.event.increase();
        }
    }

    /// Ends the completer once everything in flight has been cancelled or has finished.
    pub(crate) fn end(&self) {
        // Ordering: Release pairs with the Acquire of `has_ended`; for the rest see `conclude_all`.
        self.has_ended.store(true, Ordering::Release);
        self.event.increase();
    }

    /// Waits for completions of a worker's ring, see [`Ring::sleep`]. The worker must
    /// [conclude](Self::conclude) them.
    pub(super) fn sleep(&self, worker: usize, may_wait: impl FnOnce() -> bool) -> Vec<Completed> {
        self.rings[worker].sleep(may_wait)
    }

    /// Takes completions of a worker's ring, as the completer does.
    #[cfg(test)]
    pub(super) fn reap(&self, worker: usize) -> Vec<Completed> {
        self.rings[worker].reap_after(|_| ())
    }

    pub(super) fn conclude(&self, worker: usize, completed: Vec<Completed>) {
        self.conclude_all(&self.rings[worker], completed);
    }

    pub(super) fn hint_pipe(&self, worker: usize) -> &HintPipe {
        self.rings[worker].hint_pipe()
    }

    fn hand_over(&self, operation: Arc<Operation>) {
        lock(&self.inbox).operations.push(operation);
        self.event.increase();
    }

    /// Concludes completions that were taken from a ring. May be called on any thread.
    fn conclude_all(&self, ring: &Ring, completed: Vec<Completed>) {
        for Completed { operation, result } in completed {
            self.follow(operation.conclude(result), operation);
            ring.note_concluded();
            // Ordering: pairs with the completer's fence. Either the completer sees that this
            // operation is concluded, or we see that the pool has ended, and the completer looks
            // again. Nothing weaker orders our count before our look.
            fence(Ordering::SeqCst);
            if self.has_ended() {
                self.event.increase();
            }
        }
    }

    /// Leaves the next step of a concluded operation to the completer: a worker may be in the
    /// middle of falling asleep, and must not run code of the user then.
    fn follow(&self, next: Next, operation: Arc<Operation>) {
        match next {
            Next::Finished => {}
            Next::Again => self.hand_over(operation),
            Next::Wake(waker) => {
                lock(&self.inbox).wakers.push(waker);
                self.event.increase();
            }
        }
    }

    fn has_ended(&self) -> bool {
        // Ordering: Acquire pairs with `end`.
        self.has_ended.load(Ordering::Acquire)
    }

    /// Serves the rings until the pool has ended.
    fn complete(&self, pool: Pool<'_>) {
        let mut cancelled = vec![false; self.rings.len()];
        let mut cancels = Cancels::new();
        loop {
            // Liveness: the kernel increases the counter for each completion that no thread waits
            // for, and threads do so after they have put something into the inbox. The counter
            // stays above zero until we have reset it, and after that we look at everything.
            //
            // A cancel that the kernel has not heeded is repeated; at the end of the pool, that of
            // all operations.
            if !self.has_ended() && cancels.operations.is_empty() {
                self.event.wait_and_reset();
            } else if !self.event.wait_and_reset_within(CANCEL_AGAIN_AFTER) {
                cancelled.fill(false);
            }
            let has_ended = self.has_ended();
            self.empty_inbox(pool, &mut cancels, has_ended);
            cancels.repeat(&self.rings);
            let mut is_done = true;
            for (ring, is_cancelled) in self.rings.iter().zip(&mut cancelled) {
                let is_flushed = ring.repeat();
                if !is_flushed {
                    // The kernel is short of memory.
                    std::thread::yield_now();
                }
                let completed = ring.reap_after(|ring| {
                    if has_ended && is_flushed && !mem::replace(is_cancelled, true) {
                        ring.cancel(None);
                    }
                });
                self.conclude_all(ring, completed);
                if ring.is_refused() {
                    self.event.increase();
                }
                // Ordering: see `conclude_all`.
                fence(Ordering::SeqCst);
                is_done &= ring.in_flight() == 0;
            }
            if has_ended && is_done && self.is_inbox_empty() {
                return;
            }
        }
    }

    fn empty_inbox(&self, pool: Pool<'_>, cancels: &mut Cancels, has_ended: bool) {
        let Inbox {
            operations,
            cancelled,
            wakers,
        } = mem::take(&mut *lock(&self.inbox));
        cancels.add(cancelled, &self.rings);
        for operation in operations {
            if has_ended {
                follow(pool, operation.abandon());
            } else {
                self.submit(Some(self.rings.len() - 1), operation);
            }
        }
        for waker in wakers {
            follow(pool, Next::Wake(waker));
        }
    }

    fn is_inbox_empty(&self) -> bool {
        let inbox = lock(&self.inbox);
        inbox.operations.is_empty() && inbox.wakers.is_empty()
    }
}

impl Cancels {
    fn new() -> Self {
        Self {
            operations: Vec::new(),
            last: Instant::now(),
        }
    }

    /// Cancels operations, which have rings, for the first time.
    fn add(&mut self, mut operations: Vec<Arc<Operation>>, rings: &[Ring]) {
        if self.operations.is_empty() {
            self.last = Instant::now();
        }
        cancel_all(&operations, rings);
        self.operations.append(&mut operations);
    }

    /// Cancels the operations again, unless it is too early.
    fn repeat(&mut self, rings: &[Ring]) {
        self.operations.retain(|operation| !operation.is_finished());
        let interval = Duration::from_millis(CANCEL_AGAIN_AFTER as u64);
        if self.operations.is_empty() || self.last.elapsed() < interval {
            return;
        }
        self.last = Instant::now();
        cancel_all(&self.operations, rings);
    }
}

/// Asks the kernel to end operations early.
fn cancel_all(operations: &[Arc<Operation>], rings: &[Ring]) {
    for operation in operations {
        // The entry has the address of the operation, which is not another's as long as the
        // completer has it.
        if let Some(ring) = operation.ring() {
            rings[ring].cancel(Some(operation));
        }
    }
}
