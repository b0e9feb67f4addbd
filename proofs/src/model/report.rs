//! What a search through all states has found.

use std::{error::Error, fmt};

/// What is known of a model in which nothing fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Findings {
    /// How many states can be reached.
    pub states: usize,
    /// How many steps there are between them.
    pub steps: usize,
    /// For how many steps of all actors together a [wasteful](super::Model::is_wasteful) state may
    /// last. None if fairness alone ends it.
    pub most_wasteful_steps: Option<usize>,
}

/// What fails, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Failure {
    /// What fails.
    pub problem: Problem,
    /// A shortest execution that leads there, one step in a line.
    pub execution: Vec<String>,
    /// The state at its end.
    pub end: String,
}

/// What fails in a model.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// A step breaks this rule.
    Rule(String),
    /// No actor can go on, and not all is done.
    Deadlock,
    /// These actors can go on for good, without an end.
    Cycle(Vec<String>),
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule(rule) => write!(f, "a rule is broken: {rule}"),
            Self::Deadlock => f.write_str("no actor can go on, and not all is done"),
            Self::Cycle(actors) => write!(f, "{} go on for good", actors.join(", ")),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.problem)?;
        for step in &self.execution {
            writeln!(f, "  {step}")?;
        }
        write!(f, "  then: {}", self.end)
    }
}

impl Error for Failure {}
