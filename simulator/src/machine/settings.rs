//! What decides a run, besides the program.

use super::Parts;
use crate::cost::{CostModel, MS};

/// What decides a run, besides the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// What things cost.
    pub costs: CostModel,
    /// Breaks ties between threads, and varies how long a wake-up takes by a tenth.
    pub seed: u64,
    /// How far a thread may be ahead of the one that is behind, in picoseconds. A longer quantum
    /// is faster to simulate and less exact.
    pub quantum: u64,
    /// The virtual time at which the run is given up, in picoseconds.
    pub limit: u64,
    /// How many threads run at a time; `usize::MAX` if each has a processor.
    pub processors: usize,
    /// Memory of which each access costs as much as a load from a line that the core has: to find
    /// out how much depends on its contention.
    pub free: Parts,
}

impl Settings {
    /// Creates settings with the default quantum of 100 ns and a limit of ten seconds. No memory is
    /// free.
    #[must_use]
    pub const fn new(costs: CostModel, seed: u64) -> Self {
        Self {
            costs,
            seed,
            quantum: 100_000,
            limit: 10_000 * MS,
            processors: usize::MAX,
            free: Parts::NONE,
        }
    }
}
