//! Queries that need themselves.

use std::{fmt, sync::Arc};

/// A cycle among queries: each needs the next one, and the last needs the first.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Cycle<K> {
    path: Vec<K>,
}

impl<K: Ord> Cycle<K> {
    /// Creates a cycle from its queries, in the order in which each needs the next one.
    ///
    /// The same cycle is equal wherever the path starts: it is rotated so that the least key is
    /// first.
    ///
    /// # Panics
    /// If the path is empty.
    #[must_use]
    pub fn new(mut path: Vec<K>) -> Self {
        let least = path.iter().enumerate().min_by(|a, b| a.1.cmp(b.1));
        let (least, _) = least.expect("a cycle has at least one query");
        path.rotate_left(least);
        Self { path }
    }
}

impl<K> Cycle<K> {
    /// Returns the queries of the cycle, the least first. The first is not repeated at the end.
    #[must_use]
    pub fn path(&self) -> &[K] {
        &self.path
    }
}

impl<K: fmt::Display> fmt::Display for Cycle<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for key in &self.path {
            write!(f, "{key} -> ")?;
        }
        write!(f, "{}", self.path[0])
    }
}

impl<K: fmt::Debug> fmt::Debug for Cycle<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.path).finish()
    }
}

/// The error value of a query that is on a cycle, or that needs one that is.
#[derive(Clone, PartialEq, Eq)]
pub struct CycleError<K>(Arc<Cycle<K>>);

impl<K> CycleError<K> {
    pub(crate) fn new(cycle: Cycle<K>) -> Self {
        Self(Arc::new(cycle))
    }

    /// Returns the cycle. Of several, it is the one that was met first.
    #[must_use]
    pub fn cycle(&self) -> &Cycle<K> {
        &self.0
    }
}

impl<K: fmt::Display> fmt::Display for CycleError<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cycle: {}", self.0)
    }
}

impl<K: fmt::Debug> fmt::Debug for CycleError<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CycleError").field(&self.0).finish()
    }
}

impl<K: fmt::Debug + fmt::Display> std::error::Error for CycleError<K> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_cycle_is_equal_from_wherever_it_starts() {
        let cycle = Cycle::new(vec!["c", "a", "b"]);
        assert_eq!(cycle, Cycle::new(vec!["b", "c", "a"]));
        assert_ne!(cycle, Cycle::new(vec!["b", "a", "c"]));
        assert_eq!(cycle.to_string(), "a -> b -> c -> a");
        assert_eq!(Cycle::new(vec!["a"]).to_string(), "a -> a");
    }
}
