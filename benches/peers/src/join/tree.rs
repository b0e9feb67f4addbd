//! The sum of a tree's values: little work for each join, and some memory to read.

use std::sync::LazyLock;

use protocol::Unit;

use super::{Program, written::for_all_systems};

pub(super) struct TreeSum;

impl Program for TreeSum {
    const NAME: &str = "tree-sum";
    const UNIT: Unit = Unit::Milliseconds;
}

/// A tree that stays in the caches: else one measures where its pages happen to lie.
const LEVELS: u32 = 15;
/// How many sums are measured together.
const SUMS: u32 = 128;
pub(super) const NODES: u64 = (1 << LEVELS) - 1;
static TREE: LazyLock<Node> = LazyLock::new(|| Node::tree(LEVELS));

struct Node {
    value: u64,
    children: Option<[Box<Node>; 2]>,
}

impl Node {
    fn tree(levels: u32) -> Self {
        let child = || Box::new(Self::tree(levels - 1));
        Self {
            value: 1,
            children: (levels > 1).then(|| [child(), child()]),
        }
    }
}

macro_rules! functions {
    ($Context:ty, $join:ident, $own:tt) => {
        fn run(context: &mut $Context) {
            let root = &*TREE;
            for _ in 0..SUMS {
                assert_eq!(sum(context, root), NODES);
            }
        }

        fn sum(context: &mut $Context, node: &Node) -> u64 {
            let Some([left, right]) = &node.children else {
                return node.value;
            };
            let (left, right) = $join!($own context, sum(context, left), sum(context, right));
            node.value + left + right
        }
    };
}

for_all_systems!(TreeSum, functions, [move]);
