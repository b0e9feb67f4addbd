//! Relations between events, as rows of bits.

/// How many events an execution can have.
pub(super) const MAX_EVENTS: usize = 64;

/// A set of events.
pub(super) type Set = u64;

/// Returns the set of one event.
pub(super) fn only(event: usize) -> Set {
    1 << event
}

/// Returns the events of a set.
pub(super) fn members(mut set: Set) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let event = (set != 0).then(|| set.trailing_zeros() as usize)?;
        set &= set - 1;
        Some(event)
    })
}

/// A relation: for each event those that it is before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Relation(Vec<Set>);

impl Relation {
    pub(super) fn empty(events: usize) -> Self {
        Self(vec![0; events])
    }

    /// Relates each event of a set to itself.
    pub(super) fn identity(events: usize, on: Set) -> Self {
        Self((0..events).map(|event| on & only(event)).collect())
    }

    pub(super) fn add(&mut self, from: usize, to: usize) {
        self.0[from] |= only(to);
    }

    pub(super) fn has(&self, from: usize, to: usize) -> bool {
        self.0[from] & only(to) != 0
    }

    /// Returns the events after one.
    pub(super) fn after(&self, event: usize) -> Set {
        self.0[event]
    }

    pub(super) fn union(&self, other: &Self) -> Self {
        Self(self.0.iter().zip(&other.0).map(|(a, b)| a | b).collect())
    }

    /// Returns this relation followed by another.
    pub(super) fn then(&self, other: &Self) -> Self {
        let row = |&set: &Set| members(set).fold(0, |row, event| row | other.0[event]);
        Self(self.0.iter().map(row).collect())
    }

    /// Returns this relation or nothing.
    pub(super) fn optional(&self) -> Self {
        let rows = self.0.iter().enumerate();
        Self(rows.map(|(event, row)| row | only(event)).collect())
    }

    /// Returns what remains between the events of two sets.
    pub(super) fn between(&self, from: Set, to: Set) -> Self {
        let rows = self.0.iter().enumerate();
        let row = |(event, row)| if from & only(event) == 0 { 0 } else { row & to };
        Self(rows.map(row).collect())
    }

    /// Returns what remains where a condition holds.
    pub(super) fn filter(&self, keeps: impl Fn(usize, usize) -> bool) -> Self {
        let mut kept = Self::empty(self.0.len());
        for from in 0..self.0.len() {
            for to in members(self.0[from]).filter(|&to| keeps(from, to)) {
                kept.add(from, to);
            }
        }
        kept
    }

    pub(super) fn inverse(&self) -> Self {
        let mut inverse = Self::empty(self.0.len());
        for from in 0..self.0.len() {
            members(self.0[from]).for_each(|to| inverse.add(to, from));
        }
        inverse
    }

    /// Returns the transitive closure.
    pub(super) fn closure(&self) -> Self {
        let mut closed = self.clone();
        for middle in 0..closed.0.len() {
            let row = closed.0[middle];
            for from in 0..closed.0.len() {
                if closed.has(from, middle) {
                    closed.0[from] |= row;
                }
            }
        }
        closed
    }

    pub(super) fn is_irreflexive(&self) -> bool {
        (0..self.0.len()).all(|event| !self.has(event, event))
    }

    pub(super) fn is_acyclic(&self) -> bool {
        self.closure().is_irreflexive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain() -> Relation {
        let mut relation = Relation::empty(4);
        for from in 0..3 {
            relation.add(from, from + 1);
        }
        relation
    }

    #[test]
    fn composes_and_closes() {
        let chain = chain();
        let twice = chain.then(&chain);
        assert!(twice.has(0, 2) && twice.has(1, 3) && !twice.has(0, 1));
        let closed = chain.closure();
        assert!(closed.has(0, 3) && !closed.has(3, 0));
        assert!(chain.is_acyclic());
        let mut cycle = chain.clone();
        cycle.add(3, 0);
        assert!(cycle.is_irreflexive() && !cycle.is_acyclic());
    }

    #[test]
    fn inverts_and_restricts() {
        let chain = chain();
        assert!(chain.inverse().has(1, 0));
        let some = chain.between(only(0) | only(2), only(1));
        assert!(some.has(0, 1) && !some.has(2, 3));
        assert_eq!(chain.filter(|from, _| from == 1).after(1), only(2));
        assert!(chain.optional().has(2, 2));
        assert_eq!(Relation::identity(4, only(3)).after(3), only(3));
        assert_eq!(members(only(1) | only(3)).collect::<Vec<_>>(), [1, 3]);
    }
}
