//! Random graphs, cyclic and not, and random changes, against a sequential computation.

mod support;

use std::collections::BTreeSet;

use query_engine::{Engine, Statistics};
use support::{Graph, Nodes, Random, assert_agrees, set_inputs};

const GRAPHS: u64 = 1_000;
const WORKERS: [usize; 3] = [1, 2, 8];

#[test]
fn each_cyclic_graph_has_a_cycle_reported_and_the_rest_computed() {
    for workers in WORKERS {
        // One engine: the pool goes on after each cycle.
        let mut engine = Engine::new(Nodes::default(), workers).unwrap();
        for seed in 0..GRAPHS {
            let graph = Graph::cyclic(&mut Random(seed));
            engine.clear();
            set_inputs(&mut engine, &graph);
            assert_agrees(&engine, &graph);
            assert!(!engine.cycles().is_empty(), "{graph:?}");
        }
        let statistics = engine.take_statistics();
        assert!(statistics.met + statistics.deadlocks >= GRAPHS);
        if workers == 1 {
            assert_eq!((statistics.waited, statistics.duplicated), (0, 0));
        }
    }
}

#[test]
fn no_acyclic_graph_has_a_cycle_reported() {
    for workers in WORKERS {
        let mut engine = Engine::new(Nodes::default(), workers).unwrap();
        for seed in 0..GRAPHS {
            let graph = Graph::acyclic(&mut Random(seed));
            engine.clear();
            set_inputs(&mut engine, &graph);
            assert_agrees(&engine, &graph);
            assert!(engine.cycles().is_empty(), "{graph:?}");
            let statistics = engine.take_statistics();
            assert_eq!((statistics.met, statistics.deadlocks), (0, 0));
            assert_eq!(statistics.computed, graph.nodes().len() as u64);
        }
    }
}

/// Changes one input at random, or sets it to what it is. Returns its node.
fn change(random: &mut Random, graph: &mut Graph, may_be_cyclic: bool) -> usize {
    let node = random.below(graph.0.len());
    match random.below(4) {
        0 => {}
        1 => graph.0[node].0 = random.next() % 100,
        2 => drop(graph.0[node].1.pop()),
        _ => {
            let need = random.below(graph.0.len());
            graph.0[node].1.push(need);
            if !may_be_cyclic && graph.values().contains(&None) {
                graph.0[node].1.pop();
            }
        }
    }
    node
}

#[test]
fn after_changes_the_results_are_those_of_a_computation_from_scratch() {
    for workers in WORKERS {
        let mut engine = Engine::new(Nodes::default(), workers).unwrap();
        for seed in 0..100 {
            let mut random = Random(seed);
            let mut graph = Graph::cyclic(&mut random);
            engine.clear();
            set_inputs(&mut engine, &graph);
            assert_agrees(&engine, &graph);
            for _ in 0..20 {
                let before = graph.reachable();
                let node = change(&mut random, &mut graph, true);
                engine.rules().computed.lock().unwrap().clear();
                engine.take_statistics();
                let has_changed = engine.set_input(node, graph.0[node].clone());
                assert_agrees(&engine, &graph);
                // Only what has read the changed input, directly or not, is computed.
                let after = graph.reachable();
                for &computed in engine.rules().computed.lock().unwrap().keys() {
                    assert!(has_changed);
                    assert!(
                        computed == node
                            || before[computed].contains(&node)
                            || after[computed].contains(&node),
                        "{computed} was computed after a change of {node} in {graph:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn an_error_is_outdated_when_its_cycle_is_gone_though_what_it_read_is_the_same() {
    let mut engine = Engine::new(Nodes::default(), 1).unwrap();
    // 1 and 2 need each other, through 0, which needs itself.
    let mut graph = Graph(vec![(0, vec![0, 1]), (0, vec![2]), (0, vec![0])]);
    set_inputs(&mut engine, &graph);
    assert_agrees(&engine, &graph);
    graph.0[1].1.clear();
    engine.set_input(1, graph.0[1].clone());
    assert_agrees(&engine, &graph);
}

#[test]
fn without_cycles_exactly_what_must_be_is_computed_again() {
    let mut total = Statistics::default();
    for workers in WORKERS {
        let mut engine = Engine::new(Nodes::default(), workers).unwrap();
        for seed in 0..100 {
            let mut random = Random(seed);
            let mut graph = Graph::acyclic(&mut random);
            engine.clear();
            set_inputs(&mut engine, &graph);
            assert_agrees(&engine, &graph);
            for _ in 0..20 {
                let (before, old) = (graph.values(), graph.clone());
                let node = change(&mut random, &mut graph, false);
                let after = graph.values();
                // A node whose input has changed, or that has read a value that differs now.
                let must = graph.nodes().filter(|&other| {
                    old.0[other] != graph.0[other]
                        || graph.0[other].1.iter().any(|&n| before[n] != after[n])
                });
                let must: BTreeSet<_> = must.collect();
                engine.rules().computed.lock().unwrap().clear();
                engine.take_statistics();
                engine.set_input(node, graph.0[node].clone());
                assert_agrees(&engine, &graph);
                let computed = std::mem::take(&mut *engine.rules().computed.lock().unwrap());
                let statistics = engine.take_statistics();
                assert!(computed.keys().eq(&must), "{computed:?} {must:?} {graph:?}");
                assert_eq!(statistics.computed, must.len() as u64);
                let times: usize = computed.values().sum();
                assert_eq!(statistics.computed + statistics.duplicated, times as u64);
                if old == graph {
                    assert_eq!(statistics, Statistics::default());
                } else {
                    let nodes = graph.nodes().len() as u64;
                    assert_eq!(statistics.computed + statistics.reused, nodes);
                }
                total.unchanged += statistics.unchanged;
            }
        }
    }
    assert!(total.unchanged > 500, "early cutoff was tested: {total:?}");
}
