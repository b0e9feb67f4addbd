//! What a user of the engine writes.

use std::{fmt::Debug, hash::Hash};

use crate::{context::Context, cycle::CycleError};

/// The answer of a query: its value, or the cycle that it is on or needs.
pub type Answer<R> = Result<<R as Rules>::Value, CycleError<<R as Rules>::Key>>;

/// How the queries of a program are computed.
///
/// A query must be a function of what it reads through its [`Context`]: of inputs and of other
/// queries. The engine remembers what was read, and computes a query again only if one of its reads
/// has changed.
pub trait Rules: Sized + Send + Sync + 'static {
    /// Names an input.
    type Input: Clone + Eq + Hash + Send + Sync + 'static;
    /// The value of an input.
    type InputValue: Clone + Eq + Send + Sync + 'static;
    /// Names a query. The order decides where the path of a cycle starts.
    type Key: Clone + Ord + Hash + Debug + Send + Sync + 'static;
    /// The value of a query, cheap to clone. Equal values stop an invalidation.
    type Value: Clone + Eq + Send + Sync + 'static;

    /// Computes one query.
    ///
    /// # Errors
    /// Should pass on the errors of [`Context::get`]. The engine answers each query that is on a
    /// reported cycle with an error, whatever this function returns. A query that replaces the
    /// error of another one gets an answer that may depend on which cycle was found first.
    fn compute(&self, key: &Self::Key, context: &mut Context<'_, Self>) -> Answer<Self>;

    /// Returns what a query is called in reports of deadlocks.
    fn describe(&self, key: &Self::Key) -> String {
        format!("{key:?}")
    }
}
