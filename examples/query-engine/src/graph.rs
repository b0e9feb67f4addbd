//! A dependency graph, as it was read.

mod error;
mod parse;
mod workspace;

use std::sync::Arc;

pub use error::{ChangeError, GraphError, LineError};
pub use workspace::{Packages, WorkspaceError};

/// The greatest number of targets. The sets of all transitive dependencies take up to 160 MB then.
pub const MAX_TARGETS: usize = 32_768;

/// A target of a [`Graph`]: its position among the sorted names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Target(u32);

impl Target {
    pub(crate) fn new(index: usize) -> Self {
        Self(u32::try_from(index).expect("at most MAX_TARGETS"))
    }

    /// Returns the position among the sorted names.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Targets and what each depends on directly. There may be cycles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Graph {
    /// Sorted.
    names: Arc<[Box<str>]>,
    /// For each target, in the order in which they were written.
    dependencies: Vec<Vec<Target>>,
}

/// A change of one target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Its source is edited.
    Edit(Target),
    /// It depends on other targets from now on.
    Dependencies(Target, Vec<Target>),
}

impl Graph {
    /// Returns all targets, sorted by their names.
    pub fn targets(&self) -> impl ExactSizeIterator<Item = Target> + use<> {
        (0..self.names.len()).map(Target::new)
    }

    /// Returns the target with a name.
    #[must_use]
    pub fn target(&self, name: &str) -> Option<Target> {
        let index = self.names.binary_search_by(|other| (**other).cmp(name));
        index.ok().map(Target::new)
    }

    /// Returns the name of a target.
    ///
    /// # Panics
    /// If the target is of a larger graph.
    #[must_use]
    pub fn name(&self, target: Target) -> &str {
        &self.names[target.index()]
    }

    /// Returns the names of all targets, sorted.
    #[must_use]
    pub fn names(&self) -> &Arc<[Box<str>]> {
        &self.names
    }

    /// Returns what a target depends on directly, in the order in which it was written.
    ///
    /// # Panics
    /// If the target is of a larger graph.
    #[must_use]
    pub fn dependencies(&self, target: Target) -> &[Target] {
        &self.dependencies[target.index()]
    }

    /// Returns the number of direct dependencies of all targets.
    #[must_use]
    pub fn num_dependencies(&self) -> usize {
        self.dependencies.iter().map(Vec::len).sum()
    }

    /// Makes a change. The edit of a source is no part of the graph, and changes nothing here.
    ///
    /// # Panics
    /// If a target is of a larger graph.
    pub fn apply(&mut self, change: &Change) {
        if let Change::Dependencies(target, dependencies) = change {
            self.dependencies[target.index()].clone_from(dependencies);
        }
    }
}
