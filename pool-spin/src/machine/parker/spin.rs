//! A parker that needs nothing but a core.

use core::{fmt, marker::PhantomData};

use pool_core::Parker;
use spin::RelaxStrategy;

#[cfg(not(loom))]
use crate::machine::CoreParker;
use crate::primitive::{AtomicBool, Ordering};

/// Spins until it is unparked, relaxing as `R` says.
///
/// For cores that have nothing else to do and nothing to save, for hosts that test, and for the
/// first steps on a new board. Where the core can wait for an event or an interrupt, use a parker
/// that does.
pub struct Spin<R = spin::Spin> {
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
