//! The search through all states.

use indexmap::IndexSet;
use petgraph::{
    algo::kosaraju_scc,
    graph::{DiGraph, NodeIndex},
    visit::EdgeRef as _,
};

use rustc_hash::FxBuildHasher;

use super::{
    Model,
    report::{Failure, Findings, Problem},
};

/// Explores a model.
///
/// # Errors
/// The first [`Failure`] that is found, with the shortest execution that leads to it.
///
/// # Panics
/// If there are more than 65,535 actors.
///
/// # Complexity
/// Linear in the number of states and steps, in time and in memory.
pub fn explore<M: Model>(model: &M) -> Result<Findings, Failure> {
    let mut search = Search::new(model);
    search.visit_all()?;
    search.check_fairness()?;
    Ok(search.findings())
}

/// Visits all steps of a model, in all orders: each with the state before it and the state after
/// it.
///
/// # Errors
/// The first rule that a step breaks, or a deadlock.
///
/// # Panics
/// If there are more than 65,535 actors.
pub fn visit_steps<M: Model>(
    model: &M,
    mut visit: impl FnMut(&M::State, &M::State),
) -> Result<(), Failure> {
    let mut search = Search::new(model);
    search.visit_all()?;
    for edge in search.graph.edge_references() {
        let state = |node: NodeIndex| &search.states[node.index()];
        visit(state(edge.source()), state(edge.target()));
    }
    Ok(())
}

struct Search<'m, M: Model> {
    model: &'m M,
    /// An edge is a step, and has the number of the actor that makes it.
    graph: DiGraph<(), u16>,
    /// The states, in the order of their nodes.
    states: IndexSet<M::State, FxBuildHasher>,
    /// The state from which each was reached first, and by which actor.
    reached_from: Vec<Option<(NodeIndex, u16)>>,
}

impl<'m, M: Model> Search<'m, M> {
    fn new(model: &'m M) -> Self {
        assert!(
            model.num_actors() <= usize::from(u16::MAX),
            "too many actors"
        );
        Self {
            model,
            graph: DiGraph::default(),
            states: IndexSet::default(),
            reached_from: Vec::new(),
        }
    }

    /// Visits the states in the order of their distance, so that a failure comes with a shortest
    /// execution.
    fn visit_all(&mut self) -> Result<(), Failure> {
        self.add(self.model.initial(), None);
        let mut next = 0;
        while next < self.states.len() {
            self.visit(NodeIndex::new(next))?;
            next += 1;
        }
        Ok(())
    }

    fn visit(&mut self, node: NodeIndex) -> Result<(), Failure> {
        let mut can_go_on = false;
        for actor in 0..self.model.num_actors() {
            let mut state = self.states[node.index()].clone();
            match self.model.step(&mut state, actor) {
                Ok(None) => {}
                Ok(Some(_)) => {
                    can_go_on = true;
                    let to = self.add(state, Some((node, actor as u16)));
                    self.graph.add_edge(node, to, actor as u16);
                }
                Err(rule) => {
                    let mut failure = self.failure(Problem::Rule(rule), node);
                    let name = self.model.name(actor);
                    failure.execution.push(format!("{name}: breaks the rule"));
                    return Err(failure);
                }
            }
        }
        if can_go_on {
            return Ok(());
        }
        match self.model.has_ended(&self.states[node.index()]) {
            Ok(true) => Ok(()),
            Ok(false) => Err(self.failure(Problem::Deadlock, node)),
            Err(rule) => Err(self.failure(Problem::Rule(rule), node)),
        }
    }

    fn add(&mut self, state: M::State, from: Option<(NodeIndex, u16)>) -> NodeIndex {
        let (index, is_new) = self.states.insert_full(state);
        if is_new {
            self.graph.add_node(());
            self.reached_from.push(from);
        }
        NodeIndex::new(index)
    }

    /// Looks for states that an execution need never leave although it is fair: a set of states
    /// that can all reach each other, in which each actor makes a step or cannot go on somewhere.
    fn check_fairness(&self) -> Result<(), Failure> {
        let components = kosaraju_scc(&self.graph);
        let mut component_of = vec![0; self.states.len()];
        for (number, component) in components.iter().enumerate() {
            for node in component {
                component_of[node.index()] = number;
            }
        }
        for (number, component) in components.iter().enumerate() {
            let actors = self.model.num_actors();
            let (mut steps_inside, mut cannot_go_on) = (vec![false; actors], vec![false; actors]);
            let mut has_cycle = false;
            for &node in component {
                let mut can_go_on = vec![false; actors];
                for edge in self.graph.edges(node) {
                    let actor = usize::from(*edge.weight());
                    can_go_on[actor] = true;
                    if component_of[edge.target().index()] == number {
                        steps_inside[actor] = true;
                        has_cycle = true;
                    }
                }
                for actor in 0..actors {
                    cannot_go_on[actor] |= !can_go_on[actor];
                }
            }
            let is_fair = |actor: usize| steps_inside[actor] || cannot_go_on[actor];
            if has_cycle && (0..actors).all(is_fair) {
                let first = component.iter().min().expect("a component has a state");
                let turn = (0..actors).filter(|&actor| steps_inside[actor]);
                let names = turn.map(|actor| self.model.name(actor)).collect();
                return Err(self.failure(Problem::Cycle(names), *first));
            }
        }
        Ok(())
    }

    /// Describes the shortest execution that leads to a state.
    fn failure(&self, problem: Problem, end: NodeIndex) -> Failure {
        let mut steps = Vec::new();
        let mut node = end;
        while let Some((from, actor)) = self.reached_from[node.index()] {
            steps.push((from, usize::from(actor)));
            node = from;
        }
        let execution = steps.into_iter().rev().map(|(from, actor)| {
            let mut state = self.states[from.index()].clone();
            let what = self.model.step(&mut state, actor).ok().flatten();
            let name = self.model.name(actor);
            format!("{name}: {}", what.expect("it has made this step before"))
        });
        Failure {
            problem,
            execution: execution.collect(),
            end: format!("{:?}", self.states[end.index()]),
        }
    }

    fn findings(&self) -> Findings {
        Findings {
            states: self.states.len(),
            steps: self.graph.edge_count(),
            most_wasteful_steps: self.most_wasteful_steps(),
        }
    }

    /// Returns the length of the longest execution through wasteful states alone. None if it has no
    /// bound: then only fairness ends it.
    fn most_wasteful_steps(&self) -> Option<usize> {
        let is_wasteful: Vec<_> = self
            .states
            .iter()
            .map(|it| self.model.is_wasteful(it))
            .collect();
        let wasteful = self.graph.filter_map(
            |node, ()| is_wasteful[node.index()].then_some(node),
            |_, actor| Some(*actor),
        );
        let order = petgraph::algo::toposort(&wasteful, None).ok()?;
        let mut length = vec![0; wasteful.node_count()];
        for node in order {
            for edge in wasteful.edges(node) {
                let to = edge.target().index();
                length[to] = length[to].max(length[node.index()] + 1);
            }
        }
        Some(length.into_iter().max().unwrap_or(0))
    }
}
