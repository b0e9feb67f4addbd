//! Guests: threads outside the pool that run a closure in the place of a worker that sleeps.
//!
//! A worker that sleeps at top level, between jobs, needs neither its deque nor its number. So a
//! thread from outside can take its *seat*: the guest is that worker until its closure has ended,
//! while the worker's own thread, the *host*, stays parked. This wakes no thread, and there are
//! never more running threads than the pool has workers. If no seat is free, the closure is
//! [injected](Registry::in_worker) as usual.
//!
//! 1. The host has found nothing and registered as a sleeper. In its last look it ceases to be
//!    known as a worker, and **vacates the seat**. Then it parks.
//! 2. The guest asks the protocol for a sleeper ([`borrow_sleeper`]), and **occupies the seat**. If
//!    work is queued already, it gives the seat back and wakes the host, because the guest's
//!    closure may wait for that work.
//! 3. The guest is known as the worker, and runs the closure. In its joins it runs other jobs, or
//!    sleeps as the worker.
//! 4. The guest leaves the jobs that it has queued to other workers, ceases to be known as a
//!    worker, and **vacates the seat**.
//! 5. The guest gives the worker back to the protocol ([`give_back`]): it executes a fence, looks
//!    for the last time, and wakes the host if there is work for it.
//! 6. The host wakes up, **reclaims the seat**, and is known as the worker again.
//!
//! [`borrow_sleeper`]: sleep_core::LendSeats::borrow_sleeper
//! [`give_back`]: sleep_core::LendSeats::give_back
//!
//! # What memory safety rests on
//!
//! The seat, a word in the worker's shared half, says which thread may use the `WorkerThread`;
//! threads hand the worker over through that word (see [`Seat`]). A [sleep
//! protocol](sleep_core::SleepProtocol) is safe to implement, so it may be wrong. If it lends a
//! worker that is awake, or lends a worker twice, the guest finds that the seat is not vacant. If
//! it wakes a host while a guest has the seat, the host waits for the guest in step 6. Either
//! mistake costs only time.
//!
//! Between steps 1 and 6 the host runs code of the protocol and of its parker, which may call
//! functions of the pool. The host is not known as a worker during that time, so such calls count
//! as calls from outside. What the host itself does in between is in one file, `worker/idle.rs`,
//! under guards. The caller of the [loop](WorkerThread::run_until_stopped) promises that the
//! protocol and the parker find no reference to the worker elsewhere, such as in a scoped
//! thread-local variable. A check in each method of the worker would slow down every join.
//!
//! The module of [`lend`](WorkerThread::lend) explains why a worker may pass to another thread at
//! all: the order of the deque, the parts that only the owner uses, the process fences and the
//! thread progress. The pool's own loop vacates the seat, and no frame of the pool below that loop
//! uses the worker. If the pool has adopted the thread, the frames below the loop are in the
//! position of a lender's frames.
//!
//! # What is not overlooked
//!
//! While the seat is lent, the worker counts as active. A poster that looks for sleepers passes it
//! over; so does a thread that would wake this worker for a job in its inbox, or for a request to
//! stop. All of them execute a fence between their write and that look. The guest executes its
//! fence after it has opened the slot again, and looks for work after the fence. One of the two
//! fences comes first: either the poster finds the slot open, or the guest's look finds what the
//! poster has written. The guest's look does not use the `WorkerThread`, because the host may be
//! awake by then.

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

/// The word that says which thread may use a [`WorkerThread`]. Memory safety rests on this word
/// alone, whatever a sleep protocol claims.
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
    /// Null for HOST, [`guest`] for GUEST, and the worker's address for VACANT.
    worker: AtomicPtr<WorkerThread<P>>,
}

/// Returns the pointer that stands for GUEST. No worker is at this address, which equals the
/// alignment of the type.
const fn guest<P: Platform>() -> *mut WorkerThread<P> {
    ptr::dangling_mut()
}

impl<P: Platform> Seat<P> {
    const_unless_loom! {
        /// Creates the seat of a worker that its host has.
        pub(crate) fn new() -> Self {
            Self { worker: AtomicPtr::new(ptr::null_mut()) }
        }
    }

    /// Whether the host has the worker. Only the thread that has the worker may call this.
    pub(crate) fn is_hosts(&self) -> bool {
        // Ordering: Relaxed; this thread has written it itself.
        self.worker.load(Ordering::Relaxed).is_null()
    }

    /// Leaves the worker to the next thread that comes: its host or a guest. Only the thread that
    /// has the worker may call this. Takes a pointer, because the host may free the worker before
    /// this returns.
    pub(crate) fn vacate(&self, worker: *const WorkerThread<P>) {
        debug_assert!(
            cfg!(loom) || !self.is_vacant(),
            "left by a thread that did not have it"
        );
        // Ordering: Release pairs with the Acquire of `occupy` and `reclaim`: what this thread did
        // as the worker happens before what the next one does.
        self.worker.store(worker.cast_mut(), Ordering::Release);
    }

    /// Whether a guest may take the seat at this moment.
    pub(crate) fn is_vacant(&self) -> bool {
        // Ordering: Relaxed; `occupy` decides.
        let worker = self.worker.load(Ordering::Relaxed);
        !worker.is_null() && worker != guest()
    }

    /// Takes the worker for a guest if the seat is vacant. At most one thread gets the worker until
    /// the seat is vacated again.
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

    /// Takes the worker back for its host if no guest has it. Returns whether it took the worker.
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
/// dropped, even by a panic.
struct Guest<'r, P: Platform> {
    registry: &'r Registry<P>,
    index: WorkerIndex,
    worker: *const WorkerThread<P>,
}

impl<P: Platform> Registry<P> {
    /// Runs a closure on the calling thread as a worker of this pool whose own thread sleeps. If
    /// there is no such worker, or the calling thread is a worker already, the closure is
    /// returned.
    ///
    /// Only pools whose platform [has guests](Platform::has_guests), and whose protocol [lends
    /// sleepers](sleep_core::LendSeats::borrow_sleeper), run it. The caller needs no reference to
    /// the pool: the worker whose place it takes does not end before the call does.
    ///
    /// # Errors
    /// The closure, which was not called.
    ///
    /// # Panics
    /// Resumes the closure's panic, after the worker was given back.
    ///
    /// # Complexity
    /// Calls the protocol twice, and looks at the deque of each worker that may be awake, at most
    /// twice. It wakes a thread only if there is work for it when the worker is given back, or if
    /// the worker's own thread came first.
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
    /// Makes the calling thread, which is outside the pool, a guest in the seat of a sleeping
    /// worker, if there is one.
    fn begin(registry: &'r Registry<P>) -> Option<Self> {
        // If the protocol panics here, the seat is still vacant.
        let index = registry.borrow_sleeper()?;
        let seat = registry.workers().get(index.get()).map(|it| &it.seat);
        let Some(worker) = seat.and_then(|seat| seat.occupy()) else {
            // The host has been woken since `borrow_sleeper` looked at its seat, and is about to
            // sleep again; or the protocol is wrong.
            registry.give_back(index, || true);
            return None;
        };
        if registry.has_work_for_host(index) {
            // Another guest has seen the work when it left, but we took the seat before it could
            // wake the host. Our closure may wait for that work.
            seat.inspect(|seat| seat.vacate(worker));
            registry.give_back(index, || true);
            return None;
        }
        // From here on the drop gives the seat back.
        let guest = Self {
            registry,
            index,
            worker,
        };
        no_unwind(|| registry.deadlock().wake_up(index));
        // SAFETY: 1. it stays in place while the seat is ours, and this is called again before we
        // vacate the seat.
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
            // A platform may already have ended the guest's stay, as in the child of a process that
            // has forked.
            debug_assert!(
                P::current().is_null() || ptr::eq(P::current(), worker),
                "this thread is not this worker"
            );
            worker.leave_jobs_and_operations();
            registry
                .deadlock()
                .fall_asleep(index, &shared.terminate, |worker| registry.may_run(worker));
            // A deadlock handler may have scheduled some, which the host leaves then.
            let holds_operations = worker.holds_operations();
            shared.observer().observe(Event::GuestLeft, P::now);
            // SAFETY: 1. the pointer is null.
            unsafe { P::set_current(ptr::null()) };
            // Other workers leave out the deque of a sleeper: see `LeftOut` in `worker/idle.rs`.
            // From here on, this thread calls no function of the platform that may queue a job on
            // that deque.
            shared.deque.disable_fast_push();
            shared.seat.vacate(self.worker);
            let mut must_announce = false;
            registry.give_back(index, || {
                let look = registry.check_sources_for_host(index);
                must_announce = look.must_announce;
                // A setter that comes late, for a wait of the guest that is over, may have found
                // the slot lent. It wakes no thread then, and its note would hide a deadlock for
                // good.
                look.has_work || holds_operations || registry.deadlock().is_waking(index)
            });
            if must_announce {
                registry.announce_seen_jobs();
            }
        });
    }
}
