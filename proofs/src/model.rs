//! All states that a few actors can reach together, and whether they always reach the end.
//!
//! A [`Model`] says what each actor does next in a state. [`explore()`] goes through all orders of
//! their steps, and checks
//! - *safety*: no step breaks a rule of the model;
//! - *no deadlock*: an execution stops only where all is done;
//! - *liveness*: no execution goes on for good in which each actor that can go on does so in the
//!   end (weak fairness).
//!
//! Each step is one access to memory that the actors share, or something that no other actor can
//! tell from one. The steps of an execution are in one order: what the memory model allows beyond
//! that is the subject of [`memory`](crate::memory).

mod explore;
mod report;
#[cfg(test)]
mod tests;

use std::{fmt::Debug, hash::Hash};

pub use explore::{explore, visit_steps};
pub use report::{Failure, Findings, Problem};

/// Actors that share a state.
pub trait Model {
    /// What all actors share, and where each of them is.
    type State: Clone + Eq + Hash + Debug;

    /// Returns where they begin.
    fn initial(&self) -> Self::State;

    /// Returns the number of actors.
    fn num_actors(&self) -> usize;

    /// Returns the name of an actor, for executions that fail.
    fn name(&self, actor: usize) -> String;

    /// Lets an actor make its next step, and returns what it has done. None if it cannot go on now,
    /// because it waits for others or has ended.
    ///
    /// # Errors
    /// The rule that the step breaks.
    fn step(&self, state: &mut Self::State, actor: usize) -> Result<Option<String>, String>;

    /// Whether all is done, so that no actor needs to go on.
    ///
    /// # Errors
    /// The rule that the end breaks.
    fn has_ended(&self, state: &Self::State) -> Result<bool, String>;

    /// Whether the pool wastes something in this state: the search measures for how many steps in a
    /// row it may.
    fn is_wasteful(&self, _state: &Self::State) -> bool {
        false
    }
}
