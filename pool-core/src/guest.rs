//! Guests: threads outside the pool that run a closure in the place of a worker that sleeps.
//!
//! A worker that sleeps at top level, between jobs, needs neither its deque nor its number. So a
//! thread from outside takes its *seat*: the guest is that worker until its closure has ended,
//! while the worker's own thread, the *host*, stays parked. No thread is woken for that, and never
//! do more threads run than the pool has workers. If no seat is free, the closure is
//! [injected](Registry::in_worker) as before.
//!
//! 1. The host has found nothing and registered as a sleeper. In its last look it ceases to be
//!    known as a worker, and **vacates the seat**. It parks.
//! 2. The guest asks the protocol for a sleeper ([`borrow_sleeper`]), and **occupies the seat**. If
//!    work is queued already, it gives the seat back and wakes the host: its closure may wait for
//!    that work.
//! 3. The guest is known as the worker, and runs the closure. In its joins it runs other jobs, or
//!    sleeps as the worker.
//! 4. The guest leaves what it has queued to others, is not known as a worker any more, and
//!    **vacates the seat**.
//! 5. The guest gives the worker back to the protocol ([`give_back`]): it executes a fence, looks
//!    for the last time, and wakes the host if there is something to do for it.
//! 6. The host wakes up, **reclaims the seat**, and is known as the worker again.
//!
//! [`borrow_sleeper`]: sleep_core::LendSeats::borrow_sleeper
//! [`give_back`]: sleep_core::LendSeats::give_back
//!
//! # What memory safety rests on
//!
//! The seat, a word in the worker's shared half, says which thread may use the `WorkerThread`; the
//! hand-over is by that word (see [`Seat`]). A [sleep protocol](sleep_core::SleepProtocol) is safe
//! to implement. One that lends a worker that is awake, or lends it twice, finds the seat not
//! vacant. One that wakes a host beside a guest makes the host wait for the guest in step 6. Each
//! costs time and nothing else.
//!
//! Between steps 1 and 6 the host runs code of the protocol and of its parker, which may call
//! functions of the pool. So the host is not known as a worker by then, and such calls come from
//! outside. What the host does itself in between is in one file, `worker/idle.rs`, which has guards
//! for it. That the protocol and the parker find no reference to the worker elsewhere, such as in a
//! scoped thread-local variable, the caller of the [loop](WorkerThread::run_until_stopped)
//! promises. A check in each method of the worker would cost every join.
//!
//! Why a worker may pass to another thread at all, [`lend`](WorkerThread::lend) says: the order of
//! the deque, the parts that the owner alone uses, the process fences and the thread progress. A
//! seat is vacated by the pool's own loop, below which no frame of the pool uses the worker; the
//! frames of a thread that a pool has adopted are in the position of a lender's.
//!
//! # What is not overlooked
//!
//! While the seat is lent the worker counts as active. A poster that looks for sleepers passes it
//! over; so does a thread that wakes this worker for a job in its inbox, or for its request to
//! stop. All of them execute a fence between their write and that look. The guest's fence comes
//! after it has opened the slot again, and its look after that. Of two fences one comes first:
//! either the poster finds the slot open, or the look finds what the poster has written. The look
//! does not use the `WorkerThread`, because the host may be awake by then.

use core::{fmt, ptr};

use sleep_core::WorkerIndex;

use crate::{
    deadlock::DeadlockDetection as _,
    metrics::{Event, Observer as _},
    platform::Platform,
    primitive::{AtomicPtr, Ordering},
    registry::Registry,
    unwind::no_unwind,
    worker::WorkerThread,
};

#[cfg(test)]
mod tests;

/// Says which thread may use a [`WorkerThread`]. Memory safety rests on this word alone, whatever a
/// sleep protocol claims.
///
/// ```text
///              vacate                occupy
///  HOST ─────────────────▶ VACANT ────────────▶ GUEST
///    ▲   (worker's thread)   │ ▲                  │
///    └───────────────────────┘ └──────────────────┘
///       reclaim (worker's thread)     vacate (guest)
/// ```
///
/// The host, which is the worker's own thread, vacates the seat as the last thing before it parks
/// at top level. It does not touch the `WorkerThread` until it has reclaimed the seat.
pub(crate) struct Seat<P: Platform> {
    /// Null for HOST, [`guest`] for GUEST, and for VACANT the worker.
    worker: AtomicPtr<WorkerThread<P>>,
}

/// Returns the pointer that stands for GUEST. No worker is at this address, which is its alignment.
const fn guest<P: Platform>() -> *mut WorkerThread<P> {
    ptr::dangling_mut()
}

impl<P: Platform> Seat<P> {
    const_unless_loom! {
        /// Creates the seat of a worker that is its host's.
        pub(crate) fn new() -> Self {
            Self { worker: AtomicPtr::new(ptr::null_mut()) }
        }
    }

    /// Whether the host has the worker. Only for a thread that has it.
    pub(crate) fn is_hosts(&self) -> bool {
        // Ordering: Relaxed; this thread has written it itself.
        self.worker.load(Ordering::Relaxed).is_null()
    }

    /// Leaves the worker to the next thread that comes: its host or a guest. The caller has had it.
    /// A pointer, because the host may free the worker before this returns.
    pub(crate) fn vacate(&self, worker: *const WorkerThread<P>) {
        debug_assert!(
            cfg!(loom) || !self.is_vacant(),
            "left by a thread that did not have it"
        );
        // Ordering: Release pairs with the Acquire of `occupy` and `reclaim`: what this thread did
        // as the worker lies before what the next one does.
        self.worker.store(worker.cast_mut(), Ordering::Release);
    }

    /// Whether a guest may come at this moment.
    pub(crate) fn is_vacant(&self) -> bool {
        // Ordering: Relaxed; `occupy` decides.
        let worker = self.worker.load(Ordering::Relaxed);
        !worker.is_null() && worker != guest()
    }

    /// Takes the vacant worker for a guest. At most one thread gets it until it is vacated again.
    pub(crate) fn occupy(&self) -> Option<*const WorkerThread<P>> {
        // Ordering: Relaxed; the exchange confirms it.
        let worker = self.worker.load(Ordering::Relaxed);
        if worker.is_null() || worker == guest() {
            return None;
        }
        // Ordering: Acquire pairs with `vacate`, which says why. Relaxed on failure: nothing is
        // taken.
        self.worker
            .compare_exchange(worker, guest(), Ordering::Acquire, Ordering::Relaxed)
            .ok()
            .map(<*mut _>::cast_const)
    }

    /// Takes the worker back for its host if no guest has it. Returns whether it did.
    pub(crate) fn reclaim(&self, worker: *const WorkerThread<P>) -> bool {
        // Ordering: as in `occupy`.
        self.worker
            .compare_exchange(
                worker.cast_mut(),
                ptr::null_mut(),
                Ordering::Acquire,
                Ordering::Relaxed,
            )
            .is_ok()
    }
}

impl<P: Platform> fmt::Debug for Seat<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Ordering: Relaxed; debug output only.
        let worker = self.worker.load(Ordering::Relaxed);
        f.write_str(if worker.is_null() {
            "HOST"
        } else if worker == guest() {
            "GUEST"
        } else {
            "VACANT"
        })
    }
}

/// A thread that is a worker while the worker's own thread sleeps. Gives the seat back when it is
/// dropped, by a panic too.
struct Guest<'r, P: Platform> {
    registry: &'r Registry<P>,
    index: WorkerIndex,
    worker: *const WorkerThread<P>,
    /// How deep the host's jobs at top level are. The guest has none.
    top: usize,
}

impl<P: Platform> Registry<P> {
    /// Runs a closure on the calling thread as a worker of this pool whose own thread sleeps. If
    /// there is no such worker, or the calling thread is a worker already, the closure is
    /// returned.
    ///
    /// Only pools whose platform [has guests](Platform::has_guests), and whose protocol [lends
    /// sleepers](sleep_core::LendSeats::borrow_sleeper), run it. The caller needs no reference to
    /// the pool: the worker whose place it takes does not end before.
    ///
    /// # Errors
    /// The closure, which was not called.
    ///
    /// # Panics
    /// Resumes the closure's panic, after the worker was given back.
    ///
    /// # Complexity
    /// Calls the protocol twice, and looks at the deque of each worker that may be awake, at most
    /// twice. Wakes no thread by itself.
    #[inline]
    pub fn try_call<F, R>(&self, closure: F) -> Result<R, F>
    where
        F: FnOnce(&WorkerThread<P>) -> R,
    {
        if !P::current().is_null() {
            return Err(closure);
        }
        let Some(guest) = Guest::begin(self) else {
            return Err(closure);
        };
        // SAFETY: the guest has the seat until it is dropped, and the host, whose frame the worker
        // is in, does not leave that frame before it has reclaimed the seat.
        Ok(closure(unsafe { &*guest.worker }))
    }
}

impl<'r, P: Platform> Guest<'r, P> {
    /// Makes the calling thread, which is outside the pool, a worker that sleeps, if there is one.
    fn begin(registry: &'r Registry<P>) -> Option<Self> {
        // If the protocol panics here, the seat is still vacant.
        let index = registry.borrow_sleeper()?;
        let seat = registry.workers().get(index.get()).map(|it| it.seat());
        let Some(worker) = seat.and_then(|seat| seat.occupy()) else {
            // The host has been woken since it was asked, and is about to sleep again; or the
            // protocol lies.
            registry.give_back(index, || true);
            return None;
        };
        if registry.has_work_for_host(index) {
            // Another guest has seen the work, and found the seat taken again before it could wake
            // the host. Our closure may wait for that work.
            seat.inspect(|seat| seat.vacate(worker));
            registry.give_back(index, || true);
            return None;
        }
        // From here on the drop gives the seat back.
        let guest = Self {
            registry,
            index,
            worker,
            // SAFETY: it stays in place while the seat is ours.
            top: unsafe { &*worker }.fair_looks().set_top(0),
        };
        no_unwind(|| registry.deadlock().wake_up(index));
        // SAFETY: 1. it stays in place while the seat is ours, and this is called again before.
        unsafe { P::set_current(worker) };
        let shared = &registry.workers()[index.get()];
        shared.observer().observe(Event::GuestArrived, P::now);
        Some(guest)
    }
}

impl<P: Platform> Drop for Guest<'_, P> {
    fn drop(&mut self) {
        let (registry, index) = (self.registry, self.index);
        let shared = &registry.workers()[index.get()];
        no_unwind(|| {
            // SAFETY: it stays in place while the seat is ours, until `vacate`.
            let worker = unsafe { &*self.worker };
            // A platform may have ended the stay, as in the child of a process that has forked.
            debug_assert!(
                P::current().is_null() || ptr::eq(P::current(), worker),
                "this thread is another worker"
            );
            worker.leave_jobs_and_operations();
            worker.fair_looks().set_top(self.top);
            registry
                .deadlock()
                .fall_asleep(index, shared.terminate(), |worker| registry.may_run(worker));
            shared.observer().observe(Event::GuestLeft, P::now);
            // SAFETY: 1. the pointer is null.
            unsafe { P::set_current(ptr::null()) };
            // Others leave the deque of a sleeper out, as in `LeftOut` of `worker/idle.rs`. From
            // here on this thread runs no function of the platform that may queue a job on it.
            shared.deque().disable_fast_push();
            shared.seat().vacate(self.worker);
            let mut is_relied_on = false;
            registry.give_back(index, || {
                let look = registry.check_sources_for_host(index);
                is_relied_on = look.is_relied_on;
                look.has_work
            });
            if is_relied_on {
                registry.announce_seen_jobs();
            }
        });
    }
}
