//! When the owner biases its deque again.

use core::{cell::Cell, num::NonZeroU32};

use super::ProcessFence;
use crate::deque::position::Position;

/// After this many pops an owner asks again for a price that was unknown.
const UNKNOWN_PRICE: u32 = if cfg!(test) { 20 } else { 10_000 };

/// How many pops' fences cost as much as a revocation that the owner answers: two cache misses on
/// each side, and the thief's wait for the next pop.
const ANSWER_PRICE: u32 = if cfg!(test) { 16 } else { 128 };

/// How many more pops take fences before the owner biases the deque again.
///
/// This is the ski rental problem. The owner takes fences until their cost since the last steal
/// equals the cost of the revocation that a bias leads to later, if that is like the last one. Then
/// the total is at most twice the cost of the better choice, whatever the thieves do.
pub(in crate::deque) struct RebiasBudget {
    /// Fenced pops that are left; zero if no count is under way.
    pops_left: Cell<u32>,
    /// The position that the last fenced pop read from `top`.
    top: Cell<Position>,
}

/// What an owner does after a pop with a fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::deque) enum BudgetStep {
    /// Nothing: fenced pops are left.
    Continue,
    /// Asks for the price and counts anew, because of a steal or because no count is under way.
    Restart,
    /// Biases the deque, if the price is still known.
    Rebias,
}

impl RebiasBudget {
    /// Creates a budget whose count begins with the first fenced pop.
    pub(in crate::deque) const fn new() -> Self {
        Self {
            pops_left: Cell::new(0),
            top: Cell::new(Position::from_index(0)),
        }
    }

    /// Records a pop with a fence that has read this position from `top`. Returns what the owner
    /// does when the pop is over.
    #[inline]
    pub(in crate::deque) fn record_fenced_pop(&self, top: Position) -> BudgetStep {
        let left = self.pops_left.get();
        let was_stolen_from = self.top.replace(top) != top;
        if left > 1 && !was_stolen_from {
            self.pops_left.set(left - 1);
            return BudgetStep::Continue;
        }
        if left == 1 && !was_stolen_from {
            BudgetStep::Rebias
        } else {
            BudgetStep::Restart
        }
    }

    /// Records that the owner itself has moved `top` to this position, which is no steal.
    #[inline]
    pub(in crate::deque) fn record_own_claim(&self, top: Position) {
        self.top.set(top);
    }

    /// Returns true if the owner may bias the deque now; otherwise restarts the count.
    /// `was_answered` tells whether the last revocation needed no process fence.
    ///
    /// The fence is the user's code and may use the deque, so this must not be called within a pop.
    #[cold]
    pub(in crate::deque) fn rebias_or_restart(
        &self,
        step: BudgetStep,
        fence: Option<&ProcessFence>,
        was_answered: impl FnOnce() -> bool,
    ) -> bool {
        let Some(fence) = fence else {
            self.pops_left.set(u32::MAX);
            return false;
        };
        // A pop within that call does not ask for the price again.
        self.pops_left.set(UNKNOWN_PRICE);
        let price = (fence.price)();
        if step == BudgetStep::Rebias && price.is_some() {
            self.pops_left.set(0);
            return true;
        }
        let most = if was_answered() {
            ANSWER_PRICE
        } else {
            u32::MAX
        };
        // At least two, so that one pop lies between the restart and the bias.
        let pops = price.map_or(UNKNOWN_PRICE, |price: NonZeroU32| {
            price.get().clamp(2, most)
        });
        self.pops_left.set(pops);
        false
    }
}
