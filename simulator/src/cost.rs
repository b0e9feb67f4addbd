//! What things cost, in picoseconds of virtual time.

/// Picoseconds in a nanosecond.
pub const NS: u64 = 1_000;
/// Picoseconds in a microsecond.
pub const US: u64 = 1_000 * NS;
/// Picoseconds in a millisecond.
pub const MS: u64 = 1_000 * US;

/// What each step of the simulated machine costs, in picoseconds.
///
/// The page "The simulator" of the book gives the source of each figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CostModel {
    /// The name by which the command line knows the model.
    pub name: &'static str,
    /// An access to a line that this core has.
    pub hit: u64,
    /// What an atomic read-modify-write costs in addition.
    pub exchange: u64,
    /// A sequentially consistent fence.
    pub fence: u64,
    /// The processor's hint that a thread spins.
    pub spin: u64,
    /// The transfer of a line between cores of one node.
    pub near: u64,
    /// The transfer of a line between nodes of one group.
    pub far: u64,
    /// The transfer of a line between groups.
    pub farthest: u64,
    /// How long a line's home is busy with one read of the line.
    pub home: u64,
    /// The invalidation of one more copy, when a line is written.
    pub invalidate: u64,
    /// The first access to a line by any core.
    pub memory: u64,
    /// What a thread pays to go to sleep in the system.
    pub park: u64,
    /// What a thread pays to wake another one: the system call, and the interrupt that it sends.
    pub unpark: u64,
    /// From the call until the woken thread runs.
    pub wake: u64,
    /// A call of the scheduler that finds nothing else to run.
    pub yield_now: u64,
    /// The system's fence for all threads: what the caller pays.
    pub process_fence: u64,
    /// The interrupt that such a fence is for each running thread.
    pub interrupt: u64,
    /// What the caller of such a fence pays for each running thread.
    pub interrupt_sent: u64,
    /// Cores that share a node (a socket).
    pub cores_per_node: usize,
    /// Nodes that share a group (a board).
    pub nodes_per_group: usize,
}

impl CostModel {
    /// A server without a hypervisor: sockets of 64 cores, eight sockets to a board.
    pub const SERVER: Self = Self {
        name: "server",
        hit: NS / 2,
        exchange: 4 * NS,
        fence: 4 * NS,
        spin: 40 * NS,
        near: 51 * NS,
        far: 108 * NS,
        farthest: 300 * NS,
        home: 10 * NS,
        invalidate: NS,
        memory: 80 * NS,
        park: 500 * NS,
        unpark: 1_500 * NS,
        wake: 5 * US,
        yield_now: 180 * NS,
        process_fence: US,
        interrupt: 500 * NS,
        interrupt_sent: 50 * NS,
        cores_per_node: 64,
        nodes_per_group: 8,
    };

    /// The machine of the project's benchmarks: a virtual machine with two cores.
    pub const BENCH: Self = Self {
        name: "bench",
        park: US,
        unpark: 3 * US,
        wake: 11 * US,
        process_fence: 16 * US,
        interrupt: 2 * US,
        ..Self::SERVER
    };

    /// All models, the default first.
    pub const ALL: &'static [Self] = &[Self::SERVER, Self::BENCH];

    /// Returns the node of a core.
    #[must_use]
    pub fn node(&self, core: usize) -> u8 {
        u8::try_from(core / self.cores_per_node).unwrap_or(u8::MAX)
    }

    /// Returns what it costs to bring a line from one node to another.
    #[must_use]
    pub fn transfer(&self, from: u8, to: u8) -> u64 {
        self.nearest_of(1 << from.min(63), to)
    }

    /// Returns the bits of the nodes in the group of a node.
    fn group(&self, node: u8) -> u64 {
        let size = self.nodes_per_group.clamp(1, 64);
        let first = usize::from(node) / size * size;
        (u64::MAX >> (64 - size))
            .checked_shl(first as u32)
            .unwrap_or(0)
    }

    /// Returns what it costs to bring a line to a node from the nearest of the nodes with these
    /// bits.
    #[must_use]
    pub fn nearest_of(&self, nodes: u64, to: u8) -> u64 {
        if nodes & (1 << to) != 0 {
            self.near
        } else if nodes & self.group(to) != 0 {
            self.far
        } else {
            self.farthest
        }
    }

    /// Returns what it costs to reach the farthest of the nodes with these bits.
    #[must_use]
    pub fn farthest_of(&self, nodes: u64, to: u8) -> u64 {
        if nodes & !self.group(to) != 0 {
            self.farthest
        } else if nodes & !(1 << to) != 0 {
            self.far
        } else {
            self.near
        }
    }
}

/// Returns the least time in which a thread that is awake can have `count` sleepers woken: each
/// thread that is awake wakes others, one after another, without looking for any.
///
/// Source: the optimal broadcast tree of the LogP model (Karp, Sahay, Santos, Schauser, 1993).
#[must_use]
pub fn ideal_wake_tree(count: usize, costs: &CostModel) -> u64 {
    use std::{cmp::Reverse, collections::BinaryHeap};

    let mut wakers = BinaryHeap::from([Reverse(0)]);
    let mut last = 0;
    for _ in 0..count {
        let Some(Reverse(at)) = wakers.pop() else {
            break;
        };
        let woken = at + costs.wake.max(costs.unpark);
        last = last.max(woken);
        wakers.push(Reverse(at + costs.unpark));
        wakers.push(Reverse(woken));
    }
    last
}

/// Returns the least time in which the first `count` workers can each change one shared line once:
/// one after the other, with neighbors next to each other.
///
/// A pool whose workers all change one count before they run a job needs at least so long to occupy
/// them.
#[must_use]
pub fn changes_of_one_line(count: usize, costs: &CostModel) -> u64 {
    let nodes = count.div_ceil(costs.cores_per_node);
    let groups = nodes.div_ceil(costs.nodes_per_group);
    (count - nodes) as u64 * costs.near
        + (nodes - groups) as u64 * costs.far
        + groups.saturating_sub(1) as u64 * costs.farthest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_has_three_steps() {
        let costs = CostModel::SERVER;
        assert_eq!(
            (costs.node(63), costs.node(64), costs.node(4095)),
            (0, 1, 63)
        );
        assert_eq!(costs.transfer(3, 3), costs.near);
        assert_eq!(costs.transfer(0, 7), costs.far);
        assert_eq!(costs.transfer(7, 8), costs.farthest);
        assert_eq!(costs.transfer(63, 56), costs.far);
        // Of nodes 8 and 20, as node 9 sees them.
        assert_eq!(costs.nearest_of(1 << 8 | 1 << 20, 9), costs.far);
        assert_eq!(costs.farthest_of(1 << 8 | 1 << 20, 9), costs.farthest);
        assert_eq!(costs.farthest_of(1 << 9, 9), costs.near);
    }

    #[test]
    fn a_line_that_all_workers_change_passes_each_border_once() {
        let costs = CostModel::SERVER;
        assert_eq!(changes_of_one_line(0, &costs), 0);
        assert_eq!(changes_of_one_line(64, &costs), 63 * costs.near);
        let two_groups = changes_of_one_line(16 * 64, &costs);
        assert_eq!(
            two_groups,
            16 * 63 * costs.near + 14 * costs.far + costs.farthest
        );
    }

    #[test]
    fn the_ideal_tree_grows_with_the_logarithm() {
        let costs = CostModel {
            unpark: US,
            wake: US,
            ..CostModel::SERVER
        };
        assert_eq!(ideal_wake_tree(0, &costs), 0);
        assert_eq!(ideal_wake_tree(1, &costs), US);
        // One waker, then two, then four: as many as in a binary tree.
        assert_eq!(ideal_wake_tree(7, &costs), 3 * US);
        assert_eq!(ideal_wake_tree(4095, &costs), 12 * US);
    }
}
