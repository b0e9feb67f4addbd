//! The part of a worker's slot that [`Jec`](crate::Jec) and [`Classic`](crate::Classic) share:
//! whether the worker is asleep, and whether a waker has claimed it.

use core::fmt;

use crate::{
    parker::Parker,
    primitive::{AtomicU8, Custody, Ordering},
    protocol::mark::SearchMark,
};

#[cfg(test)]
mod tests;

/// The worker runs.
const AWAKE: u8 = 0;
/// The worker is counted as sleeping and may be claimed by any waker.
const ASLEEP: u8 = 1;
/// One waker has claimed the worker and has not finished waking it.
const WAKING: u8 = 2;
/// The bits that hold one of the above.
const STATE: u8 = 3;
/// A bit beside the state: the state is that of a guest, and the worker's own thread sleeps until
/// the guest has given the slot back.
const LENT: u8 = 4;

/// What is wrong if two threads change a state that one of them alone may change.
const NOT_MADE: &str = "not the state that this thread has made";

/// The thread whose state a slot holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tenant {
    /// The worker's own thread.
    Host,
    /// Another thread, which has borrowed the slot of a sleeping worker.
    Guest,
}

impl Tenant {
    const fn bit(self) -> u8 {
        match self {
            Self::Host => 0,
            Self::Guest => LENT,
        }
    }

    const fn of(state: u8) -> Self {
        if state & LENT == 0 {
            Self::Host
        } else {
            Self::Guest
        }
    }
}

/// Whether one worker sleeps, and its parker.
///
/// ```text
///          open                 claim                 release
///  AWAKE ────────▶ ASLEEP ──────────────▶ WAKING ──────────────▶ AWAKE
///    ▲   (worker)    │      (one waker)          (the same waker)
///    └───────────────┘
///         close (the worker turns back)
/// ```
///
/// A guest takes the slot of a sleeping worker over, and gives it back:
///
/// ```text
///           lend                         give_back
///  ASLEEP ────────▶ LENT (and AWAKE) ──────────────▶ ASLEEP
///  (host)    (guest)       │   ▲         (guest)     (host)
///                     open ▼   │ release, close
///                    LENT and ASLEEP, LENT and WAKING: as above
/// ```
///
/// The worker's own thread, the host, sleeps all that time, because it waits for `AWAKE` without
/// the bit `LENT`.
///
/// The worker stays until `release`, so that a late `release` does not end its next sleep. A
/// protocol that counts sleepers lowers the count between `claim` and `release`. Then a worker that
/// has left is no longer counted, and a waker that is interrupted half-way can make the counts
/// neither too large nor negative.
pub(crate) struct SlotState<P> {
    state: AtomicU8,
    parker: P,
    /// The right to change the sleeping count for this worker. It is the worker's while the slot
    /// is `AWAKE`, and the waker's while the slot is `WAKING`.
    count: Custody,
    search: SearchMark,
}

impl<P> SlotState<P> {
    const_unless_loom! {
        /// Creates the state of a worker that is awake.
        pub(super) fn new(parker: P) -> Self {
            Self {
                state: AtomicU8::new(AWAKE),
                parker,
                count: Custody::new(),
                search: SearchMark::new(),
            }
        }
    }

    pub(super) fn parker(&self) -> &P {
        &self.parker
    }

    /// Returns whether the worker searches, for assertions. For the thread that is the worker.
    pub(super) fn search(&self) -> &SearchMark {
        &self.search
    }

    fn load(&self) -> u8 {
        // Ordering: Relaxed; for debug output, and for an assertion of the thread that alone may
        // change the state.
        self.state.load(Ordering::Relaxed)
    }

    /// Lets wakers claim the worker from now on. The worker has counted itself as sleeping before.
    /// Returns which thread the worker is.
    pub(super) fn open(&self) -> Tenant {
        self.count.hold();
        // Only this thread changes the state while it is awake, so this makes `ASLEEP` of `AWAKE`.
        //
        // Ordering: Release pairs with the Acquire of `claim`: the waker lowers the count after the
        // worker has raised it. With Relaxed the count could pass below zero and borrow from the
        // inactive count. That wakers see the slot open in time is ensured by the latch's own
        // ordering (`CoreLatch::advance`) and by the fences in the protocols.
        let old = self.state.fetch_or(ASLEEP, Ordering::Release);
        debug_assert!(old & STATE == AWAKE, "{NOT_MADE}");
        Tenant::of(old)
    }

    /// Takes the worker back. Returns false if a waker has claimed it and will release it.
    pub(super) fn close(&self, tenant: Tenant) -> bool {
        let (asleep, awake) = (tenant.bit() | ASLEEP, tenant.bit() | AWAKE);
        // Ordering: Acquire on success pairs with `give_back`: a guest may have changed the count
        // since `open`. A waker has not, because it leaves the worker awake. Relaxed on
        // failure: then the worker waits for `is_awake`, which acquires.
        self.state
            .compare_exchange(asleep, awake, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    /// Claims the worker for a waker, which must then wake it. At most one waker succeeds for each
    /// sleep.
    pub(super) fn claim(&self) -> bool {
        // The plain load keeps wakers that look for a sleeper from taking the line away from
        // workers that are awake.
        //
        // Ordering: Relaxed: a slot that is not open is passed over; the fences in the protocols
        // say why that is safe.
        self.claim_from(self.state.load(Ordering::Relaxed))
    }

    /// Claims the worker as [`claim`](Self::claim) does, for a waker that knows that the slot was
    /// opened.
    pub(super) fn claim_known_sleeper(&self) -> bool {
        // No load before it. An exchange that fails is a load, and may be out of date, but not by
        // so much that it precedes the opening: the slot was claimed or lent, or closed, since
        // then.
        self.claim_from(ASLEEP)
    }

    /// Claims the worker, which was perhaps seen in this state. Passes over a slot only if it was
    /// seen in a state that is not open, neither for the worker nor for a guest.
    #[inline]
    fn claim_from(&self, mut state: u8) -> bool {
        while state & STATE == ASLEEP {
            // Ordering: Acquire pairs with `open` and `give_back`, which say why. Relaxed on
            // failure, as for the load in `claim`.
            match self.state.compare_exchange(
                state,
                state & LENT | WAKING,
                Ordering::Acquire,
                Ordering::Relaxed,
            ) {
                Ok(_) => return true,
                Err(now) => state = now,
            }
        }
        false
    }

    /// Takes the slot of a sleeping worker over for a guest, which then counts as awake. At most
    /// one guest succeeds, and no waker at the same time.
    pub(super) fn lend(&self) -> bool {
        // Ordering: Acquire pairs with `open` and `give_back`, as in `claim_from`: the guest lowers
        // the count after it was raised.
        let is_lent = self
            .state
            .compare_exchange(ASLEEP, LENT | AWAKE, Ordering::Acquire, Ordering::Relaxed)
            .is_ok();
        if is_lent {
            self.count.hold();
        }
        is_lent
    }

    /// Lets wakers claim the worker's own thread again. The guest has counted it as sleeping
    /// before.
    pub(super) fn give_back(&self) {
        // In a model this would be one more step to interleave, and `count` finds two threads that
        // both change the state.
        debug_assert!(cfg!(loom) || self.load() == LENT | AWAKE, "{NOT_MADE}");
        self.count.hold();
        // Ordering: Release pairs with the Acquire of `claim_from`, `lend` and `close`, for the
        // count as in `open`.
        self.state.store(ASLEEP, Ordering::Release);
    }

    /// Releases the worker that the caller has claimed. Returns which thread is to be unparked.
    pub(super) fn release(&self) -> Tenant {
        self.count.hold();
        // Only this thread changes the state after its claim, so this makes `AWAKE` of `WAKING`.
        //
        // Ordering: Release pairs with `is_awake`: the worker may count itself as active, or as
        // sleeping again, only after the waker has lowered the count.
        let old = self.state.fetch_and(LENT, Ordering::Release);
        debug_assert!(old & STATE == WAKING, "{NOT_MADE}");
        Tenant::of(old)
    }

    /// Whether the worker sleeps and no waker has claimed it. For debug output and statistics.
    pub(super) fn is_asleep(&self) -> bool {
        self.load() == ASLEEP
    }

    /// Whether the worker has been released. The worker's own thread is not while a guest has the
    /// slot.
    pub(crate) fn is_awake(&self, tenant: Tenant) -> bool {
        // Ordering: Acquire pairs with `release`, which says why.
        self.state.load(Ordering::Acquire) == tenant.bit() | AWAKE
    }
}

impl<P: Parker> SlotState<P> {
    /// Parks the calling thread until a waker has released it.
    pub(super) fn park_until_awake(&self, tenant: Tenant) {
        // Liveness: the waker that claims the slot releases it and unparks the tenant after that,
        // without waiting for anything. While a guest has the slot, the host is claimed by
        // no waker; it is when the guest has given the slot back.
        while !self.is_awake(tenant) {
            match tenant {
                Tenant::Host => self.parker().park(),
                Tenant::Guest => self.parker().park_guest(),
            }
        }
    }

    /// Releases the worker that the caller has claimed, and unparks it.
    pub(super) fn release_and_unpark(&self) {
        match self.release() {
            Tenant::Host => self.parker().unpark(),
            Tenant::Guest => self.parker().unpark_guest(),
        }
    }
}

impl<P: fmt::Debug> fmt::Debug for SlotState<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match self.load() {
            AWAKE => "AWAKE",
            ASLEEP => "ASLEEP",
            WAKING => "WAKING",
            _ => "LENT",
        };
        f.debug_struct("Slot")
            .field("state", &state)
            .field("parker", &self.parker)
            .finish()
    }
}
