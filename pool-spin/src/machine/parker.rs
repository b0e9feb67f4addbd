//! How cores sleep: the parkers whose token is a flag. Those that halt a core are in `halting`.

use core::{fmt, marker::PhantomData};

use ::spin::RelaxStrategy;
use pool_core::Parker;

#[cfg(not(loom))]
use super::CoreParker;
use super::Events;
use crate::primitive::{AtomicBool, Ordering};

mod halting;
#[cfg(test)]
mod tests;

pub use halting::{HltIpi, WfiIpi};

/// Spins until it is unparked, relaxing as `R` says.
///
/// For cores that have nothing else to do and nothing to save, for hosts that test, and for the
/// first steps on a new board. Where the core can wait for an event or an interrupt, use a parker
/// that does.
pub struct Spin<R = ::spin::Spin> {
    token: AtomicBool,
    relax: PhantomData<fn() -> R>,
}

impl<R: RelaxStrategy> Spin<R> {
    const_unless_loom! {
        /// A parker without a token.
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
        // loads between, which leave the line where it is.
        //
        // Liveness: whoever claims this worker stores the token, before or after we look, and
        // nobody else takes it.
        while !self.token.load(Ordering::Relaxed) || !self.token.swap(false, Ordering::Acquire) {
            R::relax();
        }
    }

    fn unpark(&self) {
        // Ordering: Release pairs with `park`. An exchange, not a store: if somebody has given the
        // token already, what they wrote goes on with it.
        self.token.swap(true, Ordering::Release);
    }

    fn relax(&self) {
        R::relax();
    }
}

impl<R> fmt::Debug for Spin<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Ordering: Relaxed, for looking on.
        f.debug_struct("Spin")
            .field("token", &self.token.load(Ordering::Relaxed))
            .finish()
    }
}

/// Waits in `WFE`, woken by `SEV`; `E` is the architecture.
///
/// Needs no interrupt controller. Each `unpark` wakes all cores that wait for an event, which look
/// and wait again: for machines of few cores.
///
/// # Liveness
/// The token is stored, completed by a barrier, and then every core's event register is set. A
/// worker that has looked before that store and not yet executed `WFE` finds its register set, and
/// `WFE` returns at once: the register is what makes looking and waiting one step. What else sets
/// or clears the register, an interrupt or another lock's `WFE`, costs one more look, not a
/// wake-up: each `WFE` is followed by a look at the token.
pub struct Wfe<E> {
    token: AtomicBool,
    events: PhantomData<fn() -> E>,
}

impl<E: Events> Wfe<E> {
    const_unless_loom! {
        /// A parker without a token.
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
        // Ordering: Acquire pairs with `unpark`: what its caller wrote is visible.
        //
        // Liveness: see the type.
        while !self.token.swap(false, Ordering::Acquire) {
            E::wait();
        }
    }

    fn unpark(&self) {
        // Ordering: Release pairs with `park`. An exchange, not a store: if somebody has given the
        // token already, what they wrote goes on with it.
        self.token.swap(true, Ordering::Release);
        E::send();
    }
}

impl<E> fmt::Debug for Wfe<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Ordering: Relaxed, for looking on.
        f.debug_struct("Wfe")
            .field("token", &self.token.load(Ordering::Relaxed))
            .finish()
    }
}
