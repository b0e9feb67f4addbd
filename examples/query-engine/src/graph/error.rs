//! What can be wrong with a graph.

use std::{fmt, io, path::PathBuf};

use crate::graph::MAX_TARGETS;

/// The error of a graph that cannot be read from a file.
#[derive(Debug)]
#[non_exhaustive]
pub enum GraphError {
    /// The file cannot be read.
    Read {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// A line of the file is wrong.
    Line {
        /// The file.
        path: PathBuf,
        /// The number of the line; the first is 1.
        line: usize,
        /// What is wrong.
        source: LineError,
    },
    /// The file has no targets.
    Empty {
        /// The file.
        path: PathBuf,
    },
}

/// What is wrong with a line.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum LineError {
    /// It is not UTF-8.
    NotUtf8,
    /// It has no colon.
    NoColon,
    /// It has nothing before the colon.
    NoTarget,
    /// It has several words before the colon.
    SeveralTargets,
    /// It has a colon in the name of a dependency.
    ColonInDependency(String),
    /// An earlier line has the same target.
    DuplicateTarget {
        /// The target.
        name: String,
        /// The number of the earlier line.
        first: usize,
    },
    /// It names a dependency that is no target.
    UnknownDependency(String),
    /// It has one target more than [`MAX_TARGETS`].
    TooManyTargets,
}

/// What is wrong with a change.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChangeError {
    /// It names a target that the graph does not have.
    UnknownTarget(String),
    /// It is no line of a graph.
    Line(LineError),
}

impl fmt::Display for GraphError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read { path, source } => write!(f, "{}: {source}", path.display()),
            Self::Line { path, line, source } => write!(f, "{}:{line}: {source}", path.display()),
            Self::Empty { path } => write!(f, "{}: no targets", path.display()),
        }
    }
}

impl fmt::Display for LineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotUtf8 => f.write_str("not UTF-8"),
            Self::NoColon => f.write_str("no colon; expected `target: dependency dependency`"),
            Self::NoTarget => f.write_str("no target before the colon"),
            Self::SeveralTargets => f.write_str("more than one target before the colon"),
            Self::ColonInDependency(name) => write!(f, "dependency `{name}` has a colon"),
            Self::DuplicateTarget { name, first } => {
                write!(f, "target `{name}` is already on line {first}")
            }
            Self::UnknownDependency(name) => write!(f, "dependency `{name}` is not a target"),
            Self::TooManyTargets => write!(f, "more than {MAX_TARGETS} targets"),
        }
    }
}

impl fmt::Display for ChangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownTarget(name) => write!(f, "no target `{name}`"),
            Self::Line(source) => source.fmt(f),
        }
    }
}

// The messages contain the sources.
impl std::error::Error for GraphError {}
impl std::error::Error for LineError {}
impl std::error::Error for ChangeError {}
