//! How a sleep protocol is played.

use std::{fmt::Debug, hash::Hash};

use super::{
    guard::Guard,
    world::{Look, World},
};

/// A sleep protocol, whose calls are played step by step.
pub(super) trait Protocol {
    /// What the workers share through the protocol, beside slots and latches.
    type Shared: Clone + Eq + Hash + Debug + Default;
    /// What a worker that searches remembers.
    type Idle: Copy + Eq + Hash + Debug + Default;
    /// Where a call stands.
    type Call: Copy + Eq + Hash + Debug;

    /// Begins a call.
    fn begin(&self, request: Request<Self::Idle>) -> Self::Call;

    /// Makes the next step of a call. `without` is what is left out of it.
    ///
    /// # Errors
    /// The rule that is broken.
    fn step(
        &self,
        world: &mut World,
        shared: &mut Self::Shared,
        call: &mut Self::Call,
        without: &[Guard],
    ) -> Result<Flow<Self::Idle>, String>;

    /// Tells a call what the pool has found in the queues.
    fn answer(&self, call: &mut Self::Call, finds: bool);

    /// Whether a search leaves the deque of a worker out, because it sleeps.
    fn leaves_out(&self, _shared: &Self::Shared, _worker: u8) -> bool {
        false
    }

    /// Checks what holds in every state.
    ///
    /// # Errors
    /// The rule that is broken.
    fn check(&self, world: &World, shared: &Self::Shared) -> Result<(), String>;

    /// Checks what holds when all have ended.
    ///
    /// # Errors
    /// The rule that is broken.
    fn check_end(&self, shared: &Self::Shared) -> Result<(), String>;
}

/// A call of a protocol. Workers have numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Request<I> {
    StartLooking(u8),
    NoWorkFound(u8, I),
    WorkFound(u8, I),
    Announce {
        is_injected: bool,
        count: u8,
        queue_was_empty: bool,
    },
    AnnounceFor(u8),
    WakeWorker(u8),
    BorrowSleeper,
    GiveBack(u8),
}

/// How a call goes on after a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Flow<I> {
    /// It waits for other actors. Nothing has changed.
    Blocked,
    /// It has done this.
    GoesOn(&'static str),
    /// It asks the pool to look at the queues.
    Looks(Look, &'static str),
    /// It has ended.
    Ends(Answer<I>, &'static str),
}

/// What a call returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Answer<I> {
    None,
    Idle(I),
    /// The worker that is lent, if one is.
    Lent(Option<u8>),
}
