//! How cores sleep: the parkers that have a flag as their token. Parkers that interrupt a halted
//! core are in the file `halting`.

use core::{fmt, marker::PhantomData};

use ::spin::RelaxStrategy;
use pool_core::Parker;

#[cfg(not(loom))]
use super::CoreParker;
use super::Events;
#[cfg(any(not(test), loom))]
use crate::primitive::AtomicBool;
use crate::primitive::Ordering;
// A double whose exchanges are events.
#[cfg(all(test, not(loom)))]
use tests::events::AtomicBool;

mod halting;
#[cfg(test)]
mod tests;

pub use halting::{HltIpi, WfiIpi};

/// A parker that spins until it is unparked. `R` is what it does between two looks at the token.
///
/// Intended for cores that have no other work and no energy to save, for tests on a host, and for
/// the first steps on a new board. If the core can wait for an event or an interrupt, use a parker
/// that does.
///
/// `R` must return by itself: `unpark` sends no event and no interrupt that would end a `WFE` or a
/// `WFI`.
///
/// # Examples
/// ```
/// use pool_spin::{Parker, Spin};
///
/// let parker: Spin = Spin::new();
/// parker.unpark();
/// parker.park(); // returns at once, and takes the token
/// ```
pub struct Spin<R = ::spin::Spin> {
    token: AtomicBool,
    relax: PhantomData<fn() -> R>,
}

impl<R: RelaxStrategy> Spin<R> {
    const_unless_loom! {
        /// Creates a parker without a token.
        #[must_use]
        pub fn new() -> Self {
            Self { token: AtomicBool::new(false), relax: PhantomData }
        }
    }
}

#[cfg(not(loom))]
impl<R: RelaxStrategy + 'static> CoreParker for Spin<R> {
    const NEW: Self = Self::new();
}

impl<R: RelaxStrategy> Default for Spin<R> {
    fn default() -> Self {
        Self::new()
    }
}

impl<R: RelaxStrategy> Parker for Spin<R> {
    fn park(&self) {
        // Ordering: Acquire pairs with `unpark`: what its caller wrote is visible. Relaxed for the
        // loads in between, which do not claim the cache line.
        //
        // Liveness: the thread that claims this worker stores the token, before or after we look,
        // and only we take it.
        while !self.token.load(Ordering::Relaxed) || !self.token.swap(false, Ordering::Acquire) {
            R::relax();
        }
    }

    fn unpark(&self) {
        // Ordering: Release pairs with `park`. An exchange, not a store: if there is already a
        // token, the worker also sees what the thread that gave it earlier had written.
        self.token.swap(true, Ordering::Release);
    }

    fn relax(&self) {
        R::relax();
    }
}

impl<R> fmt::Debug for Spin<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Ordering: Relaxed; debug output only.
        f.debug_struct("Spin")
            .field("token", &self.token.load(Ordering::Relaxed))
            .finish()
    }
}

/// A parker that waits in `WFE` and is woken by `SEV`. `E` is the architecture.
///
/// It needs no interrupt controller. Each `unpark` wakes all cores that wait for an event; the
/// cores for which it is not intended look and wait again. So it suits machines with few cores.
///
/// On some chips, for instance the RP2350, each exclusive access sets the event register of the
/// core that executes it. There, a core that exchanges before each `WFE` never sleeps. So `park`
/// looks at the token by a plain load, and exchanges only a token that is there. The exchange makes
/// the first `WFE` of the next `park` return at once, and the second one waits.
///
/// # Liveness
/// `unpark` stores the token, a barrier completes the store, and then it sets every core's event
/// register. Consider a look that finds no token. It came before that store, so the register is set
/// after the look. From then on only a `WFE` of this core clears the register:
///
/// - The `WFE` that follows the look. It returns at once or wakes, and the next look comes after
///   the barrier of `unpark`, so it finds the token ([`Events::wait`] keeps that look from being
///   early).
/// - A `WFE` of a handler that runs between the two. The return from the handler sets the register
///   again.
///
/// No `WFE` comes before the result of its look: whether it is executed depends on the result. So
/// looking and waiting are one step without an exchange. A register that is set for another reason
/// (an interrupt, another lock, another parker) costs one more look.
///
/// # Examples
/// ```
/// use pool_spin::{Events, Parker, Wfe};
///
/// /// On Arm it is `Aarch64` or `CortexM` of `pool_spin::arch`.
/// struct NoEvents;
///
/// impl Events for NoEvents {
///     fn send() {}
///     fn wait() {}
/// }
///
/// let parker: Wfe<NoEvents> = Wfe::new();
/// parker.unpark();
/// parker.park(); // returns at once, and takes the token
/// ```
pub struct Wfe<E> {
    token: AtomicBool,
    events: PhantomData<fn() -> E>,
}

impl<E: Events> Wfe<E> {
    const_unless_loom! {
        /// Creates a parker without a token.
        #[must_use]
        pub fn new() -> Self {
            Self { token: AtomicBool::new(false), events: PhantomData }
        }
    }
}

#[cfg(not(loom))]
impl<E: Events> CoreParker for Wfe<E> {
    const NEW: Self = Self::new();
}

impl<E: Events> Default for Wfe<E> {
    fn default() -> Self {
        Self::new()
    }
}

impl<E: Events> Parker for Wfe<E> {
    fn park(&self) {
        // Ordering: Acquire pairs with `unpark`: what its caller wrote is visible. Relaxed for the
        // load: only this worker takes the token, so the exchange finds what the load has found.
        // The load comes first because an exchange may set the event register, see the type.
        //
        // Liveness: see the type.
        while !self.token.load(Ordering::Relaxed) || !self.token.swap(false, Ordering::Acquire) {
            E::wait();
        }
    }

    fn unpark(&self) {
        // Ordering: Release pairs with `park`. An exchange, not a store: if there is already a
        // token, the worker also sees what the thread that gave it earlier had written.
        self.token.swap(true, Ordering::Release);
        E::send();
    }
}

impl<E> fmt::Debug for Wfe<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Ordering: Relaxed; debug output only.
        f.debug_struct("Wfe")
            .field("token", &self.token.load(Ordering::Relaxed))
            .finish()
    }
}
