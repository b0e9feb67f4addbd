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
/// equals the expected cost of the revocation that a bias leads to later: an average of the past
/// revocations, in which the last one counts a quarter. Then the total is at most twice the cost of
/// the better choice, if thieves continue as before. If only the last revocation counted, a single
/// process fence would keep the deque fenced for a long time, because a steal restarts the count,
/// and thousands of pops without a steal are rare.
pub(in crate::deque) struct RebiasBudget {
    /// Fenced pops that are left; zero if no count is under way.
    pops_left: Cell<u32>,
    /// The position that the last fenced pop read from `top`.
    top: Cell<Position>,
    /// The expected price of the next revocation in fenced pops, or `None` before the first one.
    expected: Cell<Option<u32>>,
    /// Whether the owner has biased the deque. The next fenced pop comes after a revocation.
    has_biased: Cell<bool>,
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
            expected: Cell::new(None),
            has_biased: Cell::new(false),
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

    /// Records that the owner has biased the deque, or has ended the bias itself.
    pub(in crate::deque) fn record_bias(&self, is_biased: bool) {
        self.has_biased.set(is_biased);
        self.pops_left.set(0);
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
        let price = (fence.price)().map(NonZeroU32::get);
        if step == BudgetStep::Rebias && price.is_some() {
            self.pops_left.set(0);
            return true;
        }
        let pops = price.map_or(UNKNOWN_PRICE, |price| {
            if self.has_biased.replace(false) {
                self.record_revocation(price, was_answered());
            }
            // At least two, so that one pop lies between the restart and the bias.
            self.expected.get().unwrap_or(price).min(price).max(2)
        });
        self.pops_left.set(pops);
        false
    }

    /// Records what the last revocation has cost.
    fn record_revocation(&self, price: u32, was_answered: bool) {
        let last = if was_answered {
            price.min(ANSWER_PRICE)
        } else {
            price
        };
        let before = self.expected.get();
        let before = before.unwrap_or(price.min(ANSWER_PRICE));
        let expected = before - before / 4 + last / 4;
        self.expected.set(Some(expected));
    }
}
