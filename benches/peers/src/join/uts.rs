//! Counting the nodes of a tree that is not known before: most nodes have no children, a few have
//! many descendants.
//!
//! In the manner of the binomial trees of S. Olivier et al., "UTS: an unbalanced tree search
//! benchmark" (2006), with a cheaper hash. A node is a hash, from which those of its children
//! follow; none is stored.

use std::ops::Range;

use protocol::Unit;

use super::{Program, written::for_all_systems};
use crate::computation::splitmix64;

pub(super) struct Uts;
/// The same with closures that borrow what they use.
pub(super) struct UtsBorrowing;

/// The root, of some hundred, whose tree is of a good size: over two million nodes, and 462 levels,
/// for which the workers' stacks suffice.
const ROOT: u64 = 25_000_000_175;
const CHILDREN_OF_ROOT: u64 = 10_000;
/// Of a node that has children.
const CHILDREN: u64 = 8;
/// Hashes below it have children: a part of 0.124. With an eighth, the tree would not end.
const FERTILE: u64 = (0.124 * u64::MAX as f64) as u64;
pub(super) const NODES: u64 = 2_321_401;

impl Program for Uts {
    const NAME: &str = "uts";
    const UNIT: Unit = Unit::Milliseconds;
}

impl Program for UtsBorrowing {
    const NAME: &str = "uts-borrowing";
    const UNIT: Unit = Unit::Milliseconds;
}

macro_rules! functions {
    ($Context:ty, $join:ident, $own:tt) => {
        fn run(context: &mut $Context) {
            let below = nodes_below(context, ROOT, 0..CHILDREN_OF_ROOT);
            assert_eq!(1 + below, NODES);
        }

        /// The number of nodes from this one downwards.
        fn nodes(context: &mut $Context, node: u64) -> u64 {
            if node < FERTILE {
                1 + nodes_below(context, node, 0..CHILDREN)
            } else {
                1
            }
        }

        /// The number of nodes from these children of a node downwards.
        fn nodes_below(context: &mut $Context, parent: u64, children: Range<u64>) -> u64 {
            let Range { start, end } = children;
            if end - start == 1 {
                return nodes(context, splitmix64(parent.wrapping_add(start)));
            }
            let middle = start.midpoint(end);
            let (left, right) = $join!(
                $own context,
                nodes_below(context, parent, start..middle),
                nodes_below(context, parent, middle..end)
            );
            left + right
        }
    };
}

for_all_systems!(Uts, functions, [move]);

mod borrowing {
    use super::*;

    for_all_systems!(UtsBorrowing, functions, []);
}
