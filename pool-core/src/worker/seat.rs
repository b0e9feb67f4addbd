//! Which thread uses a worker: its own, or a guest.

use core::{fmt, ptr};

use crate::{
    platform::Platform,
    primitive::{AtomicPtr, Ordering},
    worker::WorkerThread,
};

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
