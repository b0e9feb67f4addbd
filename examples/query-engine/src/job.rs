//! A query that is being computed, and the queries above it.

use std::{iter, sync::Arc};

/// One computation of a query, with the one that asked for it.
///
/// A parent says which query needs which, not whose frame is on whose stack: the two sides of a
/// join have the same parent, wherever they run. So each step from a parent to its child is a real
/// need.
#[derive(Debug)]
pub(crate) struct Job<K> {
    key: K,
    parent: Option<Arc<Job<K>>>,
}

impl<K> Job<K> {
    pub(crate) fn new(key: K, parent: Option<Arc<Job<K>>>) -> Arc<Self> {
        Arc::new(Self { key, parent })
    }

    /// Returns the keys of this job and of all above it, this one first.
    pub(crate) fn ancestry(&self) -> impl Iterator<Item = &K> {
        iter::successors(Some(self), |job| job.parent.as_deref()).map(|job| &job.key)
    }
}

impl<K: Eq + Clone> Job<K> {
    /// Returns the queries from `key` down to this job, if `key` is this job or above it.
    pub(crate) fn path_from(&self, key: &K) -> Option<Vec<K>> {
        let steps = self.ancestry().position(|above| above == key)?;
        let mut path: Vec<K> = self.ancestry().take(steps + 1).cloned().collect();
        path.reverse();
        Some(path)
    }
}

// The chain may be long, and a recursive drop would overflow the stack.
impl<K> Drop for Job<K> {
    fn drop(&mut self) {
        let mut parent = self.parent.take();
        while let Some(mut job) = parent.and_then(Arc::into_inner) {
            parent = job.parent.take();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_goes_from_the_ancestor_down() {
        let root = Job::new(1, None);
        let child = Job::new(2, Some(root.clone()));
        let leaf = Job::new(3, Some(child));
        let _sibling = Job::new(4, Some(root));
        assert_eq!(leaf.path_from(&1), Some(vec![1, 2, 3]));
        assert_eq!(leaf.path_from(&3), Some(vec![3]));
        assert_eq!(leaf.path_from(&4), None);
    }

    #[test]
    fn a_long_chain_is_dropped_without_recursion() {
        let chain = (0..1_000_000).fold(None, |parent, key| Some(Job::new(key, parent)));
        assert_eq!(chain.unwrap().ancestry().count(), 1_000_000);
    }
}
