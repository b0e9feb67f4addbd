//! The sum of a tree's values: little work for each join, and some memory to read.

use std::sync::LazyLock;

use protocol::{Unit, time};

use super::Program;
use crate::fork_join::ForkJoin;

pub(super) struct TreeSum;

impl Program for TreeSum {
    const NAME: &str = "tree-sum";
    const UNIT: Unit = Unit::Milliseconds;

    fn measure<P: ForkJoin>(pool: &P) -> f64 {
        let root = &*TREE;
        let sums = |context: &mut P::Context<'_>| {
            for _ in 0..SUMS {
                assert_eq!(sum::<P>(context, root), NODES);
            }
        };
        let time = time(|| pool.run(sums));
        Self::UNIT.of(time)
    }
}

/// A tree that stays in the caches: else one measures where its pages happen to lie.
const LEVELS: u32 = 15;
/// How many sums are measured together.
const SUMS: u32 = 128;
const NODES: u64 = (1 << LEVELS) - 1;
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

fn sum<P: ForkJoin>(context: &mut P::Context<'_>, node: &Node) -> u64 {
    let Some([left, right]) = &node.children else {
        return node.value;
    };
    let (left, right) = P::join(
        context,
        |context| sum::<P>(context, left),
        |context| sum::<P>(context, right),
    );
    node.value + left + right
}
