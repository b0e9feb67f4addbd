//! Sets of targets.

use std::fmt;

use crate::graph::Target;

/// A set of targets: one bit for each target of a graph.
#[derive(Clone, PartialEq, Eq)]
pub struct TargetSet(Box<[u64]>);

impl TargetSet {
    /// Creates an empty set for a graph with a number of targets.
    #[must_use]
    pub fn new(targets: usize) -> Self {
        Self(vec![0; targets.div_ceil(64)].into())
    }

    /// Adds a target.
    ///
    /// # Panics
    /// If it is of a larger graph.
    pub fn insert(&mut self, target: Target) {
        self.0[target.index() / 64] |= 1 << (target.index() % 64);
    }

    /// Adds all targets of another set for the same graph.
    pub fn insert_all(&mut self, other: &Self) {
        for (word, other) in self.0.iter_mut().zip(&other.0) {
            *word |= other;
        }
    }

    /// Whether the target is in the set.
    #[must_use]
    pub fn contains(&self, target: Target) -> bool {
        let word = self.0.get(target.index() / 64);
        word.is_some_and(|word| word & 1 << (target.index() % 64) != 0)
    }

    /// Returns the number of targets in the set.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|&word| word == 0)
    }
}

impl fmt::Debug for TargetSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let targets = (0..self.0.len() * 64).map(Target::new);
        let members = targets.filter(|&target| self.contains(target));
        f.debug_set().entries(members.map(Target::index)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_united() {
        let mut set = TargetSet::new(130);
        assert!(set.is_empty());
        set.insert(Target::new(129));
        set.insert(Target::new(0));
        let mut other = TargetSet::new(130);
        other.insert(Target::new(64));
        other.insert(Target::new(0));
        set.insert_all(&other);
        assert_eq!(format!("{set:?}"), "{0, 64, 129}");
        assert_eq!(set.len(), 3);
        assert!(set.contains(Target::new(64)) && !set.contains(Target::new(63)));
        assert!(!set.contains(Target::new(1000)));
    }
}
