//! What a query may do while it is computed.

use std::{fmt, sync::Arc};

use crate::{
    evaluate::Evaluation,
    job::Job,
    reads::{Read, Reads},
    rules::{Answer, Rules},
};

/// Reads inputs and other queries for the query that is being computed, and remembers what it read.
///
/// There is one for each side of a [`join`](Self::join). Both carry the same query, so that the
/// engine knows on whichever thread which query needs which; a thread-local could not say that.
pub struct Context<'e, R: Rules> {
    evaluation: Evaluation<'e, R>,
    caller: Caller<R>,
    reads: Reads<R>,
}

/// What asks for a query.
pub(crate) struct Caller<R: Rules> {
    /// The query that does. None for the user of the engine.
    pub(crate) job: Option<Arc<Job<R::Key>>>,
    /// Whether the computation is to stay on this thread, without joins.
    pub(crate) alone: bool,
}

impl<'e, R: Rules> Context<'e, R> {
    pub(crate) fn new(evaluation: Evaluation<'e, R>, caller: Caller<R>) -> Self {
        Self {
            evaluation,
            caller,
            reads: Reads::new(),
        }
    }

    pub(crate) fn into_reads(self) -> Reads<R> {
        self.reads
    }

    /// Returns the value of an input, or None if it is not set.
    pub fn input(&mut self, key: &R::Input) -> Option<&'e R::InputValue> {
        self.reads.push(Read::Input(key.clone()));
        self.evaluation.inputs.get(key)
    }

    /// Returns the answer of another query. Computes it if it is not known; waits if another worker
    /// computes it.
    ///
    /// # Errors
    /// If the other query is on a cycle or needs one that is.
    ///
    /// # Panics
    /// If the computation of the other query panics.
    pub fn get(&mut self, key: &R::Key) -> Answer<R> {
        self.reads.push(Read::Query(key.clone()));
        self.evaluation.current(key, &self.caller).answer
    }

    /// Returns the answers of several queries, which are computed in parallel.
    ///
    /// # Panics
    /// As [`get`](Self::get).
    pub fn get_all(&mut self, keys: &[R::Key]) -> Vec<Answer<R>> {
        match keys {
            [] => Vec::new(),
            [key] => vec![self.get(key)],
            _ => {
                let (left, right) = keys.split_at(keys.len() / 2);
                let (mut left, right) = self.join(
                    |context| context.get_all(left),
                    |context| context.get_all(right),
                );
                left.extend(right);
                left
            }
        }
    }

    /// Runs two closures, potentially in parallel, and returns both results. Each gets a context of
    /// its own, for the same query.
    ///
    /// # Panics
    /// As [`pool_std::join()`].
    pub fn join<A, B, T, U>(&mut self, a: A, b: B) -> (T, U)
    where
        A: FnOnce(&mut Self) -> T + Send,
        B: FnOnce(&mut Self) -> U + Send,
        T: Send,
        U: Send,
    {
        let (mut left, mut right) = (self.side(), self.side());
        let results = self
            .evaluation
            .join(&self.caller, || a(&mut left), || b(&mut right));
        self.reads.push_fork(left.reads, right.reads);
        results
    }

    fn side(&self) -> Self {
        Self::new(self.evaluation, self.caller.clone())
    }
}

impl<R: Rules> Caller<R> {
    /// Returns the user of the engine as a caller.
    pub(crate) fn outside() -> Self {
        Self {
            job: None,
            alone: false,
        }
    }
}

impl<R: Rules> Clone for Caller<R> {
    fn clone(&self) -> Self {
        Self {
            job: self.job.clone(),
            alone: self.alone,
        }
    }
}

impl<R: Rules> fmt::Debug for Context<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let query = self.caller.job.iter().flat_map(|job| job.ancestry()).next();
        f.debug_struct("Context")
            .field("query", &query)
            .finish_non_exhaustive()
    }
}
