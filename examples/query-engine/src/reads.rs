//! What a query has read.

use crate::rules::Rules;

/// What a query has read, in its order.
///
/// # Why the order matters
/// A later read may depend on what an earlier one returned. So validation goes in order, and stops
/// at the first read that has changed: only then is it sure that the query, computed now, would
/// read the same next. In particular, a cycle that validation meets is a cycle of the current
/// inputs. The two sides of a fork depend on the reads before it, but not on each other.
pub(crate) struct Reads<R: Rules>(Vec<Read<R>>);

pub(crate) enum Read<R: Rules> {
    Input(R::Input),
    Query(R::Key),
    /// The two sides of a join.
    Fork(Box<[Reads<R>; 2]>),
}

impl<R: Rules> Reads<R> {
    pub(crate) const fn new() -> Self {
        Self(Vec::new())
    }

    pub(crate) fn push(&mut self, read: Read<R>) {
        self.0.push(read);
    }

    pub(crate) fn push_fork(&mut self, left: Self, right: Self) {
        match (left.0.is_empty(), right.0.is_empty()) {
            (_, true) => self.0.extend(left.0),
            (true, _) => self.0.extend(right.0),
            _ => self.push(Read::Fork(Box::new([left, right]))),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Read<R>> {
        self.0.iter()
    }
}
