//! A parker for cores that halt until a masked interrupt is pending.

use core::{fmt, marker::PhantomData};

use pool_core::Parker;

use super::halting::State;
#[cfg(not(loom))]
use crate::machine::CoreParker;
use crate::machine::{Interrupts, Ipi};

/// Halts in `WFI` with interrupts masked, woken by an interrupt from the core that unparks.
///
/// The interrupt is never taken here: it becomes pending, which ends the halt, and is
/// [cleared](Ipi::clear). If interrupts were enabled when the worker parked, they are between two
/// halts, so handlers of other devices run; with them masked, a pending interrupt of another device
/// makes the worker spin.
///
/// A worker may get its token just before it halts, and the interrupt for it only when it runs jobs
/// again. So a firmware that enables interrupts needs a handler that calls [`Ipi::clear`], and one
/// that does not finds the interrupt pending at the next halt, which then is a short one.
///
/// # Liveness
/// The worker masks interrupts, then announces its halt, and with it its core, by a
/// compare-exchange that fails if the token is there. Whoever unparks exchanges the word for the
/// token, so one of the two is first:
///
/// - The token: then the announcement fails, and the worker does not halt.
/// - The announcement: then who unparks reads it and interrupts that core. The interrupt stays
///   pending, since it is masked, and ends the halt that has begun or is about to.
///
/// After each halt the worker clears the interrupt first and looks for the token then: a token that
/// comes after the look brings an interrupt that comes after the clearing. From the look to the
/// next halt interrupts stay masked: no handler clears that interrupt, and none that runs on this
/// core gives a token between the two.
pub struct WfiIpi<I> {
    state: State,
    ipi: PhantomData<fn() -> I>,
}

impl<I: Ipi> WfiIpi<I> {
    const_unless_loom! {
        /// A parker without a token.
        #[must_use]
        pub fn new() -> Self {
            Self { state: State::new(), ipi: PhantomData }
        }
    }
}

#[cfg(not(loom))]
impl<I: Ipi> CoreParker for WfiIpi<I> {
    const NEW: Self = Self::new();
}

impl<I: Ipi> Default for WfiIpi<I> {
    fn default() -> Self {
        Self::new()
    }
}

impl<I: Ipi> Parker for WfiIpi<I> {
    fn park(&self) {
        let interrupts = I::Interrupts::mask();
        if self.state.announce_halt(I::this_core()) {
            // Liveness: see the type.
            while !self.state.has_token() {
                I::Interrupts::halt();
                I::clear();
                // Handlers run now, also one that unparks this worker, or clears the interrupt.
                I::Interrupts::restore(interrupts);
                I::Interrupts::mask();
            }
        }
        self.state.take();
        I::Interrupts::restore(interrupts);
    }

    fn unpark(&self) {
        if let Some(core) = self.state.give() {
            I::send(core);
        }
    }
}

impl<I> fmt::Debug for WfiIpi<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WfiIpi").field(&self.state).finish()
    }
}
