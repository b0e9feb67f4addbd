//! The parkers that halt their core, which `unpark` interrupts.

use core::{fmt, marker::PhantomData};

use pool_core::Parker;

#[cfg(not(loom))]
use crate::machine::CoreParker;
use crate::{
    machine::{Interrupts, Ipi},
    primitive::{AtomicUsize, Ordering},
};

/// A parker that halts in `WFI` with interrupts masked. `unpark` interrupts the core.
///
/// The interrupt is never taken here: it becomes pending, which ends the halt, and the worker
/// [clears](Ipi::clear) it. If interrupts were enabled when the worker parked, they are enabled
/// between two halts, so handlers of other devices run. If they were masked, a pending interrupt of
/// another device makes the worker spin.
///
/// A worker may receive its token just before it halts, and the interrupt for the token only when
/// it runs jobs again. So a firmware that enables interrupts needs a handler that calls
/// [`Ipi::clear`]. A firmware that does not enable them finds the interrupt pending at the next
/// halt, which then is a short one.
///
/// # Liveness
/// The worker masks interrupts. Then it announces its halt, and with it its core, by a
/// compare-exchange that fails if the token is there. `unpark` exchanges the word for the token, so
/// one of the two is first:
///
/// - The token: then the announcement fails, and the worker does not halt.
/// - The announcement: then `unpark` reads it and interrupts that core. The interrupt stays
///   pending, since it is masked, and ends the halt that has begun or is about to begin.
///
/// After each halt the worker clears the interrupt first and looks for the token second: a token
/// that arrives after the look brings an interrupt that arrives after the clearing. From the look
/// to the next halt, interrupts stay masked: no handler on this core clears that interrupt or gives
/// a token between the two.
///
/// # Examples
/// See [`Ipi`].
pub struct WfiIpi<I> {
    state: State,
    ipi: PhantomData<fn() -> I>,
}

impl<I: Ipi> WfiIpi<I> {
    const_unless_loom! {
        /// Creates a parker without a token.
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
                // Handlers run now, including one that unparks this worker or clears the interrupt.
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

/// A parker that halts in `HLT` with interrupts enabled. `unpark` interrupts the core.
///
/// The core takes the interrupt: the firmware's handler for it signals the end of the interrupt,
/// calls [`Ipi::clear`] if there is more to do, and returns.
///
/// Interrupts are enabled during the halt even if they were masked when the worker parked, since a
/// masked interrupt ends no halt on x86. Handlers of other devices run then, too.
///
/// # Liveness
/// As for [`WfiIpi`], the token and the announcement of the halt are one word, so `unpark`
/// interrupts a worker that has announced its halt. Between the announcement and the halt,
/// interrupts are masked, so the interrupt waits. Enabling interrupts and halting is one step for
/// the processor (the instruction after `sti` is executed before any interrupt is taken), so the
/// interrupt ends the halt. The handler need not do anything for the parker: after every halt, with
/// interrupts masked again, the worker looks for the token.
///
/// # Examples
/// See [`Ipi`], whose parker is a [`WfiIpi`].
pub struct HltIpi<I> {
    state: State,
    ipi: PhantomData<fn() -> I>,
}

impl<I: Ipi> HltIpi<I> {
    const_unless_loom! {
        /// Creates a parker without a token.
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

/// The owner does not wait, and there is no token.
const EMPTY: usize = 0;
/// The token is there.
const TOKEN: usize = 1;
/// The owner halts or is about to: this value plus the number of its core.
const HALTED: usize = 2;

/// A token and, while its owner halts, the owner's core, in one word. So the giver of the token
/// learns which core to interrupt, and does not interrupt one that runs.
struct State(AtomicUsize);

impl State {
    const_unless_loom! {
        fn new() -> Self {
            Self(AtomicUsize::new(EMPTY))
        }
    }

    /// Announces that the owner is about to halt, on this core. Returns whether it may: not if
    /// there is a token, which stays.
    fn announce_halt(&self, core: usize) -> bool {
        // Ordering: Relaxed; the announcement publishes nothing, and `take` synchronizes with the
        // giver of a token.
        self.0
            .compare_exchange(EMPTY, HALTED + core, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
    }

    /// Whether there is a token.
    fn has_token(&self) -> bool {
        // Ordering: Relaxed; `take` synchronizes.
        self.0.load(Ordering::Relaxed) == TOKEN
    }

    /// Takes the token. Everything that its givers wrote before is visible then.
    fn take(&self) {
        // Ordering: Acquire pairs with `give`. An exchange, not a store: this takes the token of a
        // second giver, too, so what that one wrote must also be visible.
        self.0.swap(EMPTY, Ordering::Acquire);
    }

    /// Gives the token. Returns the core to interrupt, if the owner halts.
    fn give(&self) -> Option<usize> {
        // Ordering: Release pairs with `take`.
        self.0.swap(TOKEN, Ordering::Release).checked_sub(HALTED)
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Ordering: Relaxed; debug output only.
        match self.0.load(Ordering::Relaxed) {
            EMPTY => f.write_str("empty"),
            TOKEN => f.write_str("token"),
            core => write!(f, "halted on core {}", core - HALTED),
        }
    }
}
