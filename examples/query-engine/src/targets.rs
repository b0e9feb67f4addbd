//! The queries of a dependency graph.

mod set;

use std::sync::Arc;

use pool_std::ThreadPoolBuilder;

use crate::{
    Answer, Context, Cycle, CycleError, Engine, EngineError, Rules, Statistics,
    graph::{Change, Graph, Target},
};
pub use set::TargetSet;

/// The engine of a dependency graph, and the graph.
///
/// # Examples
/// ```
/// use query_engine::{Graph, Targets};
///
/// let graph = Graph::parse(b"app: log net\nnet: log\nlog:\n").unwrap().unwrap();
/// let app = graph.target("app").unwrap();
/// let mut targets = Targets::new(graph, 2, 0)?;
/// let facts = targets.facts(app).unwrap();
/// assert_eq!((facts.depth, facts.transitive), (2, 2));
///
/// let change = targets.graph().parse_change("log: net").unwrap();
/// targets.apply(&change);
/// let error = targets.facts(app).unwrap_err();
/// assert_eq!(targets.path(error.cycle()), "log -> net -> log");
/// # Ok::<(), query_engine::EngineError>(())
/// ```
#[derive(Debug)]
pub struct Targets {
    graph: Graph,
    engine: Engine<TargetRules>,
}

/// What is computed of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// The number of dependencies on the longest way down.
    pub depth: u32,
    /// The number of targets that it depends on, directly or not.
    pub transitive: usize,
    /// The hash of its name and source, and of the digests of what it depends on.
    pub digest: blake3::Hash,
}

impl Facts {
    /// Returns the digest of a target from those of its direct dependencies, in the order of their
    /// names. Hashes the result again a thousand times for each unit of `work`.
    #[must_use]
    pub fn digest(name: &str, edits: u64, below: &[blake3::Hash], work: u32) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new();
        hasher.update(name.as_bytes());
        // No name has a zero byte from here on, and the rest has a fixed size.
        hasher.update(&[0]).update(&edits.to_le_bytes());
        for digest in below {
            hasher.update(digest.as_bytes());
        }
        hash_again(hasher.finalize(), work)
    }
}

/// Hashes a hash a thousand times for each unit of work.
fn hash_again(hash: blake3::Hash, work: u32) -> blake3::Hash {
    (0..u64::from(work) * 1000).fold(hash, |hash, _| blake3::hash(hash.as_bytes()))
}

/// The queries of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Query {
    /// Its direct dependencies, sorted, each once. So a line in another order changes nothing
    /// above.
    Dependencies(Target),
    /// All its dependencies. This is the query that goes round in a cycle.
    Closure(Target),
    /// The hash of its name and source, and of the digests of what it depends on.
    Digest(Target),
}

impl Query {
    /// Returns the target.
    #[must_use]
    pub fn target(self) -> Target {
        match self {
            Self::Dependencies(target) | Self::Closure(target) | Self::Digest(target) => target,
        }
    }
}

/// The inputs of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Input {
    /// What it depends on directly, as it is written.
    Dependencies(Target),
    /// How often its source was edited.
    Edits(Target),
}

/// The value of an [`Input`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum InputValue {
    Dependencies(Vec<Target>),
    Edits(u64),
}

/// The value of a [`Query`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Value {
    Dependencies(Arc<[Target]>),
    Closure { depth: u32, below: Arc<TargetSet> },
    Digest(blake3::Hash),
}

/// How the queries of a target are computed.
#[derive(Debug)]
pub struct TargetRules {
    names: Arc<[Box<str>]>,
    work: u32,
}

impl Rules for TargetRules {
    type Input = Input;
    type InputValue = InputValue;
    type Key = Query;
    type Value = Value;

    fn compute(&self, key: &Query, context: &mut Context<'_, Self>) -> Answer<Self> {
        match *key {
            Query::Dependencies(target) => {
                // Stands for reading and parsing a source.
                std::hint::black_box(hash_again([0; 32].into(), self.work));
                let written = context.input(&Input::Dependencies(target));
                let Some(InputValue::Dependencies(written)) = written else {
                    return Ok(Value::Dependencies([].into()));
                };
                let mut sorted = written.clone();
                sorted.sort_unstable();
                sorted.dedup();
                Ok(Value::Dependencies(sorted.into()))
            }
            Query::Closure(target) => {
                let direct = dependencies(target, context)?;
                let keys: Vec<_> = direct.iter().copied().map(Query::Closure).collect();
                let mut all = TargetSet::new(self.names.len());
                let mut deepest = None;
                for answer in context.get_all(&keys) {
                    let Value::Closure { depth, below } = answer? else {
                        unreachable!("the value of a closure")
                    };
                    deepest = deepest.max(Some(depth));
                    all.insert_all(&below);
                }
                for &target in &*direct {
                    all.insert(target);
                }
                Ok(Value::Closure {
                    depth: deepest.map_or(0, |depth| depth + 1),
                    below: all.into(),
                })
            }
            Query::Digest(target) => {
                // A cycle is met here, not by the digests of the dependencies.
                context.get(&Query::Closure(target))?;
                let direct = dependencies(target, context)?;
                let edits = match context.input(&Input::Edits(target)) {
                    Some(InputValue::Edits(edits)) => *edits,
                    _ => 0,
                };
                let keys: Vec<_> = direct.iter().copied().map(Query::Digest).collect();
                let below = context
                    .get_all(&keys)
                    .into_iter()
                    .map(|answer| match answer? {
                        Value::Digest(digest) => Ok(digest),
                        _ => unreachable!("the value of a digest"),
                    });
                let below = below.collect::<Result<Vec<_>, _>>()?;
                let name = &self.names[target.index()];
                Ok(Value::Digest(Facts::digest(name, edits, &below, self.work)))
            }
        }
    }

    fn describe(&self, key: &Query) -> String {
        let name = &self.names[key.target().index()];
        match key {
            Query::Dependencies(_) => format!("the dependencies of {name}"),
            Query::Closure(_) => format!("the closure of {name}"),
            Query::Digest(_) => format!("the digest of {name}"),
        }
    }
}

fn dependencies(
    target: Target,
    context: &mut Context<'_, TargetRules>,
) -> Result<Arc<[Target]>, CycleError<Query>> {
    match context.get(&Query::Dependencies(target))? {
        Value::Dependencies(direct) => Ok(direct),
        _ => unreachable!("the value of dependencies"),
    }
}

impl Targets {
    /// Creates an engine for a graph, with a number of workers (0: one per processor) and work to
    /// do for each target: when its dependencies are read, and for its [digest](Facts::digest).
    ///
    /// # Errors
    /// If threads cannot be started.
    pub fn new(graph: Graph, threads: usize, work: u32) -> Result<Self, EngineError> {
        // A stack may have to hold a chain of all targets. The memory is not used before it is
        // needed.
        let stack_size = (16 << 20) + graph.targets().len() * (16 << 10);
        let builder = ThreadPoolBuilder::new()
            .num_threads(threads)
            .stack_size(stack_size);
        let rules = TargetRules {
            names: graph.names().clone(),
            work,
        };
        let mut engine = Engine::with_pool(rules, builder)?;
        for target in graph.targets() {
            let written = graph.dependencies(target).to_vec();
            let value = InputValue::Dependencies(written);
            engine.set_input(Input::Dependencies(target), value);
        }
        Ok(Self { graph, engine })
    }

    /// Returns the graph, with all changes.
    #[must_use]
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Makes a change.
    pub fn apply(&mut self, change: &Change) {
        self.graph.apply(change);
        match change {
            Change::Edit(target) => {
                let key = Input::Edits(*target);
                let edits = match self.engine.input(&key) {
                    Some(InputValue::Edits(edits)) => edits + 1,
                    _ => 1,
                };
                self.engine.set_input(key, InputValue::Edits(edits));
            }
            Change::Dependencies(target, written) => {
                let value = InputValue::Dependencies(written.clone());
                self.engine.set_input(Input::Dependencies(*target), value);
            }
        }
    }

    /// Returns what is to be known of a target.
    ///
    /// # Errors
    /// If it is on a cycle or depends on one.
    pub fn facts(&self, target: Target) -> Result<Facts, CycleError<Query>> {
        let mut facts = self.all_facts(&[target]);
        facts.pop().expect("one for each target")
    }

    /// Returns what is to be known of some targets, computed in parallel.
    pub fn all_facts(&self, targets: &[Target]) -> Vec<Result<Facts, CycleError<Query>>> {
        let digests: Vec<_> = targets.iter().copied().map(Query::Digest).collect();
        let closures: Vec<_> = targets.iter().copied().map(Query::Closure).collect();
        let digests = self.engine.get_all(&digests);
        let closures = self.engine.get_all(&closures);
        let facts = closures.into_iter().zip(digests);
        let facts = facts.map(|(closure, digest)| match (closure?, digest?) {
            (Value::Closure { depth, below }, Value::Digest(digest)) => Ok(Facts {
                depth,
                transitive: below.len(),
                digest,
            }),
            _ => unreachable!("the values of a closure and a digest"),
        });
        facts.collect()
    }

    /// Returns the cycles that known targets are on or depend on, see [`Engine::cycles`].
    #[must_use]
    pub fn cycles(&self) -> Vec<Cycle<Query>> {
        self.engine.cycles()
    }

    /// Returns the names on a cycle, with arrows between them and the first once more at the end.
    #[must_use]
    pub fn path(&self, cycle: &Cycle<Query>) -> String {
        let path = cycle.path().iter().map(|key| self.graph.name(key.target()));
        let path = path.collect();
        Cycle::to_string(&Cycle::<&str>::new(path))
    }

    /// Returns what the engine did, and starts counting anew.
    pub fn take_statistics(&mut self) -> Statistics {
        self.engine.take_statistics()
    }

    /// Returns the engine.
    #[must_use]
    pub fn engine(&self) -> &Engine<TargetRules> {
        &self.engine
    }
}
