#![doc = include_str!("../README.md")]
//!
//! # Where to start
//!
//! [`Rules`] is what a user of the engine writes, [`Engine`] answers the queries; [`Targets`] is the
//! engine of a dependency [`Graph`].

mod blocking;
mod context;
mod cycle;
mod engine;
mod evaluate;
mod graph;
mod inputs;
mod job;
mod reads;
mod rules;
mod statistics;
mod table;
mod targets;
mod waits;

pub use context::Context;
pub use cycle::{Cycle, CycleError};
pub use engine::{Engine, EngineError};
pub use graph::{
    Change, ChangeError, Graph, GraphError, LineError, MAX_TARGETS, Packages, Target,
    WorkspaceError,
};
pub use rules::{Answer, Rules};
pub use statistics::Statistics;
pub use targets::{Facts, Input, InputValue, Query, TargetRules, TargetSet, Targets, Value};
