//! A lock that interrupt handlers may take.

use core::{fmt, marker::PhantomData, mem::MaybeUninit};

use ::spin::RelaxStrategy;
use sleep_primitives::UnsafeCell;

use super::Interrupts;
use crate::primitive::{AtomicBool, Ordering};

#[cfg(test)]
mod tests;

/// A raw mutex that interrupt handlers may take: a spin lock that masks the core's interrupts while
/// it is held. For [`lock_api::Mutex`] and for pools that detect deadlocks.
///
/// `I` is the interrupts of the machine, as for [`WfiIpi`](crate::WfiIpi), and `R` is what a core
/// does while it waits for the lock. With an ordinary spin lock, a handler that interrupts the core
/// that holds the lock would wait for that core forever. Handlers of interrupts that `I` does not
/// mask (NMI, or FIQ on some machines) must not take the lock.
///
/// What is done under the lock should be short: interrupts of this core wait for it, and so may
/// other cores. A core that waits for the lock takes interrupts meanwhile, as before the call.
///
/// A core that holds several of these locks must release them in reverse order: each restores the
/// interrupt mask that it found. In another order, interrupts are no longer masked while one lock
/// is still held, so a handler may wait for that lock forever; and after that lock is released,
/// interrupts stay masked.
///
/// `R` must return by itself: giving up the lock sends no event that would end a `WFE`.
///
/// # Liveness
/// The core that holds the lock cannot be interrupted by a handler that waits for it. The core
/// continues and releases the lock, unless its code under the lock never ends. The lock is not
/// fair.
///
/// # Examples
/// ```
/// use pool_spin::{InterruptLock, Interrupts};
///
/// # struct Board;
/// # impl Interrupts for Board {
/// #     type State = ();
/// #     fn mask() {}
/// #     fn restore(_: ()) {}
/// #     fn halt() {}
/// # }
/// // On a board: `pool_spin::arch::Aarch64` or one of the others instead of `Board`.
/// static RECEIVED: lock_api::Mutex<InterruptLock<Board>, u32> = lock_api::Mutex::new(0);
///
/// *RECEIVED.lock() += 1; // in a handler
/// assert_eq!(*RECEIVED.lock(), 1); // in a job
/// ```
pub struct InterruptLock<I: Interrupts, R = ::spin::Spin> {
    is_locked: AtomicBool,
    /// The interrupt mask of the core that holds the lock, as it was before.
    mask: UnsafeCell<MaybeUninit<I::State>>,
    relax: PhantomData<fn() -> R>,
}

// SAFETY: only the core that holds the lock uses the cell, and it writes a mask of its own before
// it reads one.
unsafe impl<I: Interrupts, R> Sync for InterruptLock<I, R> {}
// SAFETY: as above. A lock that is not held contains nothing that is read.
unsafe impl<I: Interrupts, R> Send for InterruptLock<I, R> {}

// Models have no `lock_api`, whose raw mutexes are constants.
#[cfg_attr(loom, allow(dead_code))]
impl<I: Interrupts, R: RelaxStrategy> InterruptLock<I, R> {
    const_unless_loom! {
        fn new() -> Self {
            Self {
                is_locked: AtomicBool::new(false),
                mask: UnsafeCell::new(MaybeUninit::uninit()),
                relax: PhantomData,
            }
        }
    }

    fn acquire(&self) {
        // Liveness: see the type.
        while !self.try_acquire() {
            // Ordering: Relaxed; the exchange in `try_acquire` synchronizes. The load does not
            // claim the cache line. Here interrupts are as before the call.
            while self.is_locked.load(Ordering::Relaxed) {
                R::relax();
            }
        }
    }

    fn try_acquire(&self) -> bool {
        // This comes before the exchange: in between, a handler on this core would wait for this
        // core.
        let mask = I::mask();
        // Ordering: Acquire pairs with `release`: what was done under the lock is visible.
        if self.is_locked.swap(true, Ordering::Acquire) {
            I::restore(mask);
            return false;
        }
        self.mask.with_mut(|cell| {
            // SAFETY: this core holds the lock, so it alone uses the cell.
            unsafe { (*cell).write(mask) };
        });
        true
    }

    /// Releases the lock.
    ///
    /// # Safety
    /// 1. The calling core has acquired the lock and not released it since.
    unsafe fn release(&self) {
        // SAFETY: by obligation 1 this core holds the lock, so it alone uses the cell, and it wrote
        // the mask when it acquired the lock.
        let mask = self.mask.with(|cell| unsafe { (*cell).assume_init_read() });
        // Ordering: Release pairs with `try_acquire`.
        self.is_locked.store(false, Ordering::Release);
        // This comes after the store: handlers that run now may take the lock.
        I::restore(mask);
    }
}

// SAFETY: `acquire` and `try_acquire` take the lock for one core until it is released. Which core
// that is, `GuardMarker` keeps.
#[cfg(all(feature = "deadlock", not(loom)))]
unsafe impl<I: Interrupts, R: RelaxStrategy> lock_api::RawMutex for InterruptLock<I, R> {
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: Self = Self::new();

    /// The mask belongs to the core that holds the lock.
    type GuardMarker = lock_api::GuardNoSend;

    fn lock(&self) {
        self.acquire();
    }

    fn try_lock(&self) -> bool {
        self.try_acquire()
    }

    unsafe fn unlock(&self) {
        // SAFETY: 1. is forwarded to our caller.
        unsafe { self.release() };
    }
}

impl<I: Interrupts, R> fmt::Debug for InterruptLock<I, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Ordering: Relaxed; debug output only.
        f.debug_struct("InterruptLock")
            .field("is_locked", &self.is_locked.load(Ordering::Relaxed))
            .finish()
    }
}
