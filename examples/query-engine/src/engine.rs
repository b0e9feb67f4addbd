//! The engine: a pool, the inputs, and the table of queries.

use std::{
    collections::HashMap,
    fmt, io, ptr,
    sync::{Arc, Mutex},
    thread::{self, JoinHandle},
};

use pool_std::{BuildError, DeadlockReport, ThreadPool, ThreadPoolBuilder};

use crate::{
    blocking::{self, Closer},
    context::{Caller, Context},
    cycle::{Cycle, CycleError},
    evaluate::Evaluation,
    inputs::Inputs,
    rules::{Answer, Rules},
    statistics::{Counters, Statistics},
    table::Table,
    waits::{Deadlock, Waits},
};

/// An incremental query engine with a thread pool of its own.
///
/// # Examples
/// Sums of numbers, where each sum knows its parts:
/// ```
/// use query_engine::{Answer, Context, Engine, Rules};
///
/// struct Sums;
///
/// impl Rules for Sums {
///     type Input = &'static str;
///     type InputValue = (u64, Vec<&'static str>);
///     type Key = &'static str;
///     type Value = u64;
///
///     fn compute(&self, key: &&'static str, context: &mut Context<'_, Self>) -> Answer<Self> {
///         let Some((own, parts)) = context.input(key) else { return Ok(0) };
///         context.get_all(parts).into_iter().try_fold(*own, |sum, part| Ok(sum + part?))
///     }
/// }
///
/// let mut engine = Engine::new(Sums, 2)?;
/// engine.set_input("left", (1, vec![]));
/// engine.set_input("right", (2, vec![]));
/// engine.set_input("both", (0, vec!["left", "right"]));
/// assert_eq!(engine.get(&"both"), Ok(3));
/// assert_eq!(engine.take_statistics().computed, 3);
///
/// engine.set_input("left", (5, vec![]));
/// assert_eq!(engine.get(&"both"), Ok(7));
/// let statistics = engine.take_statistics();
/// assert_eq!((statistics.computed, statistics.reused), (2, 1));
///
/// engine.set_input("right", (2, vec!["both"]));
/// let error = engine.get(&"both").unwrap_err();
/// assert_eq!(error.cycle().to_string(), "both -> right -> both");
/// assert_eq!(engine.get(&"left"), Ok(5));
/// # Ok::<(), query_engine::EngineError>(())
/// ```
pub struct Engine<R: Rules> {
    rules: R,
    inputs: Inputs<R>,
    shared: Arc<Shared<R>>,
    pool: ThreadPool,
    /// Resolves deadlocks. Ends when the closer is dropped.
    resolver: Option<(Closer, JoinHandle<()>)>,
}

/// What the resolver of deadlocks works on too.
pub(crate) struct Shared<R: Rules> {
    pub(crate) table: Table<R>,
    pub(crate) waits: Waits<R::Key>,
    pub(crate) counters: Counters,
    last_deadlock: Mutex<Option<DeadlockReport>>,
}

const LOCK: &str = "no panic with the lock on the report";

/// The error of an engine that cannot be created.
#[derive(Debug)]
#[non_exhaustive]
pub enum EngineError {
    /// The pool cannot be built.
    Pool(BuildError),
    /// The thread that resolves deadlocks cannot be started.
    Resolver(io::Error),
}

impl<R: Rules> Engine<R> {
    /// Creates an engine whose pool has a number of workers, or with 0, one per processor.
    ///
    /// # Errors
    /// If threads cannot be started.
    pub fn new(rules: R, threads: usize) -> Result<Self, EngineError> {
        Self::with_pool(rules, ThreadPoolBuilder::new().num_threads(threads))
    }

    /// Creates an engine with the pool of a builder. The engine sets its deadlock handler.
    ///
    /// The stack of each worker must have room for the deepest recursion among the queries, and for
    /// unrelated ones that a worker runs while it waits for a side of a join.
    ///
    /// # Errors
    /// If threads cannot be started.
    pub fn with_pool(rules: R, builder: ThreadPoolBuilder) -> Result<Self, EngineError> {
        let shared = Arc::new(Shared {
            table: Table::new(),
            waits: Waits::new(),
            counters: Counters::default(),
            last_deadlock: Mutex::new(None),
        });
        let (builder, reports, closer) = blocking::report_deadlocks(builder);
        let pool = builder.build().map_err(EngineError::Pool)?;
        let of_resolver = shared.clone();
        let resolver = thread::Builder::new()
            .name("deadlocks".to_owned())
            .spawn(move || {
                while let Some(report) = reports.next() {
                    of_resolver.resolve_deadlock(report);
                }
            })
            .map_err(EngineError::Resolver)?;
        Ok(Self {
            rules,
            inputs: Inputs::new(),
            shared,
            pool,
            resolver: Some((closer, resolver)),
        })
    }

    /// Returns the answer of a query, and computes only what is not known or no longer right.
    ///
    /// # Errors
    /// If the query is on a cycle, or needs one that is.
    ///
    /// # Panics
    /// If a computation panics. The engine can be used after that.
    pub fn get(&self, key: &R::Key) -> Answer<R> {
        let evaluation = self.evaluation();
        let caller = Caller::outside();
        self.pool
            .install(|| evaluation.current(key, &caller).answer)
    }

    /// Returns the answers of several queries, which are computed in parallel.
    ///
    /// # Panics
    /// As [`get`](Self::get).
    pub fn get_all(&self, keys: &[R::Key]) -> Vec<Answer<R>> {
        let evaluation = self.evaluation();
        let mut context = Context::new(evaluation, Caller::outside());
        self.pool.install(|| context.get_all(keys))
    }

    fn evaluation(&self) -> Evaluation<'_, R> {
        Evaluation {
            rules: &self.rules,
            inputs: &self.inputs,
            shared: &self.shared,
            pool: &self.pool,
        }
    }

    /// Sets an input. Returns whether its value has changed; if not, nothing is computed again.
    pub fn set_input(&mut self, key: R::Input, value: R::InputValue) -> bool {
        self.inputs.set(key, Some(value))
    }

    /// Removes an input. Returns whether it was set.
    pub fn remove_input(&mut self, key: R::Input) -> bool {
        self.inputs.set(key, None)
    }

    /// Returns the value of an input.
    pub fn input(&self, key: &R::Input) -> Option<&R::InputValue> {
        self.inputs.get(key)
    }

    /// Forgets all inputs and answers.
    pub fn clear(&mut self) {
        self.inputs = Inputs::new();
        self.shared.table.clear();
    }

    /// Returns the cycles that known answers are on or need, sorted, each once.
    ///
    /// Of cycles that overlap, the engine finds at least one: each query that is on a cycle or
    /// needs one has an error, but not each possible path is reported.
    pub fn cycles(&self) -> Vec<Cycle<R::Key>> {
        // All queries on a cycle share its error. A copy for each would be as long as the cycle.
        let mut errors: HashMap<*const Cycle<R::Key>, CycleError<R::Key>> = HashMap::new();
        self.shared.table.for_each_memo(|_, memo| {
            if let Err(error) = &memo.answer
                && memo.verified == self.inputs.revision()
            {
                let shared = ptr::from_ref(error.cycle());
                errors.entry(shared).or_insert_with(|| error.clone());
            }
        });
        let errors = errors.values().map(|error| error.cycle().clone());
        let mut cycles: Vec<_> = errors.collect();
        cycles.sort_unstable();
        cycles.dedup();
        cycles
    }

    /// Returns what the engine did.
    pub fn statistics(&self) -> Statistics {
        self.shared.counters.read()
    }

    /// Returns what the engine did, and starts counting anew.
    pub fn take_statistics(&mut self) -> Statistics {
        self.shared.counters.take()
    }

    /// Returns what the pool last reported when all its workers waited, cycle or not.
    pub fn last_deadlock(&self) -> Option<DeadlockReport> {
        self.shared.last_deadlock.lock().expect(LOCK).clone()
    }

    /// Returns the rules.
    pub fn rules(&self) -> &R {
        &self.rules
    }

    /// Returns the engine's pool.
    pub fn pool(&self) -> &ThreadPool {
        &self.pool
    }
}

impl<R: Rules> Shared<R> {
    /// Lets one of the workers that wait for each other go on.
    fn resolve_deadlock(&self, report: DeadlockReport) {
        *self.last_deadlock.lock().expect(LOCK) = Some(report);
        self.waits.end_one(|deadlock| match deadlock {
            Deadlock::Cycle(error) => {
                self.table.mark_cycle(error);
                self.counters.deadlocks.add(1);
            }
            Deadlock::FalseDependency => self.counters.false_dependencies.add(1),
        });
    }
}

impl<R: Rules> Drop for Engine<R> {
    fn drop(&mut self) {
        if let Some((closer, resolver)) = self.resolver.take() {
            drop(closer);
            // A panic in the resolver has been printed; the pool has no job left that could wait
            // for it.
            _ = resolver.join();
        }
    }
}

impl<R: Rules> fmt::Debug for Engine<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine")
            .field("pool", &self.pool)
            .field("statistics", &self.statistics())
            .finish_non_exhaustive()
    }
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pool(_) => f.write_str("the thread pool cannot be built"),
            Self::Resolver(_) => f.write_str("the thread for deadlocks cannot be started"),
        }
    }
}

impl std::error::Error for EngineError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Pool(error) => Some(error),
            Self::Resolver(error) => Some(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    const RING: usize = 500;

    static CLONES: AtomicUsize = AtomicUsize::new(0);

    /// A number that counts how often numbers are cloned.
    #[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    struct Number(usize);

    impl Clone for Number {
        fn clone(&self) -> Self {
            CLONES.fetch_add(1, Ordering::Relaxed);
            Self(self.0)
        }
    }

    /// Each number needs the next one, and the last needs the first.
    struct Ring;

    impl Rules for Ring {
        type Input = ();
        type InputValue = ();
        type Key = Number;
        type Value = ();

        fn compute(&self, key: &Number, context: &mut Context<'_, Self>) -> Answer<Self> {
            context.get(&Number((key.0 + 1) % RING))
        }
    }

    /// Reproduces a bug: a list of the whole cycle was made for each query on it, which filled the
    /// memory for a ring of many thousands.
    #[test]
    fn a_long_cycle_is_copied_once() {
        let engine = Engine::new(Ring, 1).unwrap();
        assert_eq!(
            engine.get(&Number(0)).unwrap_err().cycle().path().len(),
            RING
        );
        let before = CLONES.load(Ordering::Relaxed);
        assert_eq!(engine.cycles().len(), 1);
        let clones = CLONES.load(Ordering::Relaxed) - before;
        assert_eq!(clones, RING);
    }
}
