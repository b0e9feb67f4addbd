//! A parker for cores that leave a halt only for an interrupt that they take.

use core::{fmt, marker::PhantomData};

use pool_core::Parker;

use super::halting::State;
#[cfg(not(loom))]
use crate::machine::CoreParker;
use crate::machine::{Interrupts, Ipi};

/// Halts in `HLT`, woken by an interrupt from the core that unparks, which is taken: the firmware's
/// handler for it signals the end of the interrupt, calls [`Ipi::clear`] if there is more to do,
/// and returns.
///
/// Interrupts are enabled during the halt, also if they were masked when the worker parked: for
/// x86, where a masked interrupt ends no halt. Handlers of other devices run then too.
///
/// # Liveness
/// As for [`WfiIpi`](super::WfiIpi), the token and the announcement of the halt are one word, so
/// who unparks interrupts a worker that has announced its halt. Between the announcement and the
/// halt interrupts are masked, so the interrupt waits; enabling them and halting is one step for
/// the processor (the instruction behind `sti` is executed before any interrupt), so it ends the
/// halt. The handler need not do anything for the parker: after every halt, with interrupts masked
/// again, the worker looks for the token.
pub struct HltIpi<I> {
    state: State,
    ipi: PhantomData<fn() -> I>,
}

impl<I: Ipi> HltIpi<I> {
    const_unless_loom! {
        /// A parker without a token.
        #[must_use]
        pub fn new() -> Self {
            Self { state: State::new(), ipi: PhantomData }
        }
    }
}

#[cfg(not(loom))]
impl<I: Ipi> CoreParker for HltIpi<I> {
    const NEW: Self = Self::new();
}

impl<I: Ipi> Default for HltIpi<I> {
    fn default() -> Self {
        Self::new()
    }
}

impl<I: Ipi> Parker for HltIpi<I> {
    fn park(&self) {
        let interrupts = I::Interrupts::mask();
        if self.state.announce_halt(I::this_core()) {
            // Liveness: see the type.
            while !self.state.has_token() {
                I::Interrupts::halt();
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

impl<I> fmt::Debug for HltIpi<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HltIpi").field(&self.state).finish()
    }
}
