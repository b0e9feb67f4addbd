// Links of the README lead to pages of the repository. Here the first definition of a name counts.
#![doc = "[pool-std]: ../pool_std/index.html"]
#![doc = "[rules]: ../src/query_engine/rules.rs.html"]
#![doc = "[context]: ../src/query_engine/context.rs.html"]
#![doc = "[engine]: ../src/query_engine/engine.rs.html"]
#![doc = "[table]: ../src/query_engine/table.rs.html"]
#![doc = "[evaluate]: ../src/query_engine/evaluate.rs.html"]
#![doc = "[evaluate/validate]: ../src/query_engine/evaluate/validate.rs.html"]
#![doc = "[waits]: ../src/query_engine/waits.rs.html"]
#![doc = "[waits/deadlock]: ../src/query_engine/waits/deadlock.rs.html"]
#![doc = "[blocking]: ../src/query_engine/blocking.rs.html"]
#![doc = "[targets]: ../src/query_engine/targets.rs.html"]
#![doc = "[graph]: ../src/query_engine/graph.rs.html"]
#![doc = include_str!("../README.md")]
//!
//! # Where to start
//!
//! [`Rules`] is what a user of the engine writes, [`Engine`] answers the queries; [`Targets`] is
//! the engine of a dependency [`Graph`].

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
