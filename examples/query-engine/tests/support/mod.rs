//! Random graphs, and what a sequential computation says about them.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Mutex,
    thread,
};

use query_engine::{Answer, Context, Engine, Rules};

/// A pseudo-random number generator: SplitMix64.
#[derive(Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below a bound.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}

/// For each node, a number of its own and the nodes that it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Graph(pub(crate) Vec<(u64, Vec<usize>)>);

impl Graph {
    /// Creates a graph in which each node needs only nodes that come later in a random order.
    pub(crate) fn acyclic(random: &mut Random) -> Self {
        let nodes = 2 + random.below(30);
        let mut order: Vec<_> = (0..nodes).collect();
        for end in (1..nodes).rev() {
            order.swap(end, random.below(end + 1));
        }
        let mut graph = Self((0..nodes).map(|_| (random.next() % 100, vec![])).collect());
        let many = 1 + random.below(4);
        for (position, &node) in order.iter().enumerate() {
            let later = &order[position + 1..];
            if !later.is_empty() {
                let needs = (0..random.below(many + 1)).map(|_| later[random.below(later.len())]);
                graph.0[node].1 = needs.collect();
            }
        }
        graph
    }

    /// Creates a graph with at least one cycle.
    pub(crate) fn cyclic(random: &mut Random) -> Self {
        let mut graph = Self::acyclic(random);
        for _ in 0..=random.below(3) {
            // From the end of a random way back to its start, which may be its end.
            let start = random.below(graph.0.len());
            let mut end = start;
            for _ in 0..random.below(8) {
                let needs = &graph.0[end].1;
                if needs.is_empty() {
                    break;
                }
                end = needs[random.below(needs.len())];
            }
            let needs = &mut graph.0[end].1;
            needs.insert(random.below(needs.len() + 1), start);
        }
        graph
    }

    pub(crate) fn nodes(&self) -> std::ops::Range<usize> {
        0..self.0.len()
    }

    /// Returns for each node the nodes that it needs, directly or not.
    pub(crate) fn reachable(&self) -> Vec<BTreeSet<usize>> {
        let from = |node: usize| {
            let mut seen = BTreeSet::new();
            let mut pending = self.0[node].1.clone();
            while let Some(node) = pending.pop() {
                if seen.insert(node) {
                    pending.extend(&self.0[node].1);
                }
            }
            seen
        };
        self.nodes().map(from).collect()
    }

    /// Returns the values of all nodes, computed one after the other. None for those that are on a
    /// cycle or need one.
    pub(crate) fn values(&self) -> Vec<Option<u64>> {
        let mut values = vec![None; self.0.len()];
        loop {
            let mut has_changed = false;
            for node in self.nodes() {
                let needs: Option<Vec<u64>> = self.0[node].1.iter().map(|&n| values[n]).collect();
                if let Some(needs) = needs
                    && values[node].is_none()
                {
                    values[node] = Some(combine(self.0[node].0, &needs));
                    has_changed = true;
                }
            }
            if !has_changed {
                return values;
            }
        }
    }
}

/// Few values, so that many changes stop early.
fn combine(own: u64, needs: &[u64]) -> u64 {
    let sum = needs.iter().fold(own, |sum, value| sum * 3 + value);
    sum % 4
}

/// The queries of such a graph.
#[derive(Debug, Default)]
pub(crate) struct Nodes {
    /// The queries that were computed.
    pub(crate) computed: Mutex<BTreeMap<usize, usize>>,
}

impl Rules for Nodes {
    type Input = usize;
    type InputValue = (u64, Vec<usize>);
    type Key = usize;
    type Value = u64;

    fn compute(&self, key: &usize, context: &mut Context<'_, Self>) -> Answer<Self> {
        *self.computed.lock().unwrap().entry(*key).or_default() += 1;
        let Some((own, needs)) = context.input(key) else {
            return Ok(0);
        };
        // Gives the other workers a chance to meet here, on few processors.
        if (*own + *key as u64).is_multiple_of(3) {
            thread::yield_now();
        }
        let needs = context.get_all(needs).into_iter();
        Ok(combine(*own, &needs.collect::<Result<Vec<_>, _>>()?))
    }
}

/// Sets all inputs of a graph.
pub(crate) fn set_inputs(engine: &mut Engine<Nodes>, graph: &Graph) {
    for node in graph.nodes() {
        engine.set_input(node, graph.0[node].clone());
    }
}

/// Compares all answers of an engine with those of a sequential computation, and its cycles with
/// the graph.
#[track_caller]
pub(crate) fn assert_agrees(engine: &Engine<Nodes>, graph: &Graph) {
    let keys: Vec<_> = graph.nodes().collect();
    let answers = engine.get_all(&keys);
    let values: Vec<_> = answers.iter().map(|a| a.as_ref().ok().copied()).collect();
    assert_eq!(values, graph.values(), "{graph:?}");

    let cycles = engine.cycles();
    let reachable = graph.reachable();
    for cycle in &cycles {
        let path = cycle.path();
        let next = path.iter().cycle().skip(1);
        for (node, next) in path.iter().zip(next) {
            assert!(graph.0[*node].1.contains(next), "{cycle:?} in {graph:?}");
        }
        let passed: BTreeSet<_> = path.iter().collect();
        assert_eq!(passed.len(), path.len(), "{cycle:?} passes a node twice");
    }
    // Among nodes that need each other, at least one cycle is reported.
    for node in graph.nodes() {
        if reachable[node].contains(&node) {
            let mut heads = cycles.iter().map(|cycle| cycle.path()[0]);
            assert!(
                heads
                    .any(|head| reachable[node].contains(&head) && reachable[head].contains(&node)),
                "no cycle near {node}: {cycles:?} in {graph:?}"
            );
        }
    }
    // An error names a cycle that the node is on or needs.
    for (node, answer) in answers.iter().enumerate() {
        if let Err(error) = answer {
            let head = error.cycle().path()[0];
            assert!(cycles.contains(error.cycle()));
            assert!(reachable[node].contains(&head), "{node}: {error:?}");
        }
    }
}
