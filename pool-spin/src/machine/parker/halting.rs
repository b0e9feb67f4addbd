//! The parkers that halt their core: who unparks interrupts it.

use core::{fmt, marker::PhantomData};

use pool_core::Parker;

#[cfg(not(loom))]
use crate::machine::CoreParker;
use crate::{
    machine::{Interrupts, Ipi},
    primitive::{AtomicUsize, Ordering},
};

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

/// Halts in `HLT`, woken by an interrupt from the core that unparks, which is taken: the firmware's
/// handler for it signals the end of the interrupt, calls [`Ipi::clear`] if there is more to do,
/// and returns.
///
/// Interrupts are enabled during the halt, also if they were masked when the worker parked: for
/// x86, where a masked interrupt ends no halt. Handlers of other devices run then too.
///
/// # Liveness
/// As for [`WfiIpi`](WfiIpi), the token and the announcement of the halt are one word, so
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

/// Nobody waits, and there is no token.
const EMPTY: usize = 0;
/// The token is there.
const TOKEN: usize = 1;
/// The worker halts, or is about to: the number of its core and this.
const HALTED: usize = 2;

/// A token and, while its owner halts, the owner's core, in one word: who gives the token learns
/// whom to interrupt, and interrupts nobody who runs.
struct State(AtomicUsize);

impl State {
    const_unless_loom! {
        fn new() -> Self {
            Self(AtomicUsize::new(EMPTY))
        }
    }

    /// The owner is about to halt, on this core. False if there is a token, which is left.
    fn announce_halt(&self, core: usize) -> bool {
        // Ordering: Relaxed: nothing is handed over by the announcement, and a token is received
        // by `take`.
        self.0
            .compare_exchange(EMPTY, HALTED + core, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
    }

    /// Whether there is a token.
    fn has_token(&self) -> bool {
        // Ordering: Relaxed, `take` receives.
        self.0.load(Ordering::Relaxed) == TOKEN
    }

    /// Takes the token, and what whoever gave it last wrote before.
    fn take(&self) {
        // Ordering: Acquire pairs with `give`. An exchange, not a store: a second giver may have
        // come meanwhile, and its token goes with the first, so what it wrote must be
        // received too.
        self.0.swap(EMPTY, Ordering::Acquire);
    }

    /// Gives the token. The core to interrupt, if its owner halts.
    fn give(&self) -> Option<usize> {
        // Ordering: Release pairs with `take`.
        self.0.swap(TOKEN, Ordering::Release).checked_sub(HALTED)
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Ordering: Relaxed, for looking on.
        match self.0.load(Ordering::Relaxed) {
            EMPTY => f.write_str("empty"),
            TOKEN => f.write_str("token"),
            core => write!(f, "halted on core {}", core - HALTED),
        }
    }
}
