#![doc = include_str!("../README.md")]
//!
//! # Where to start
//!
//! [`join()`], [`scope()`], [`spawn()`] and [`broadcast()`] run jobs on the current pool;
//! [`ThreadPoolBuilder`] builds a [`ThreadPool`]; [`progress`] is for reading without locks.
#![deny(
    missing_docs,
    unsafe_op_in_unsafe_fn,
    clippy::undocumented_unsafe_blocks
)]

mod barrier;
mod broadcast;
mod builder;
mod clock;
mod context;
mod current;
mod environment;
mod error;
mod global;
mod heap_job;
mod join;
mod join_many;
#[cfg(any(target_os = "linux", target_os = "android"))]
mod linux;
mod parker;
mod platform;
mod pool;
mod pool_data;
mod pool_id;
pub mod progress;
mod scope;
mod spawn;
mod thread;
mod worker;

pub use barrier::ProcessBarrier;
pub use broadcast::{BroadcastContext, broadcast, spawn_broadcast};
pub use builder::ThreadPoolBuilder;
pub use clock::WorkerTimes;
pub use context::{FnContext, Yield, yield_local, yield_now};
pub use error::{BuildError, ShutdownError};
pub use global::{
    current_num_threads, current_thread_has_pending_tasks, current_thread_index, max_num_threads,
};
pub use join::{join, join_context};
pub use join_many::join_n;
pub use parker::ParkerKind;
pub use pool::ThreadPool;
pub use pool_core::{IdlePolicy, Relax};
pub use scope::{Scope, ScopeFifo, in_place_scope, in_place_scope_fifo, scope, scope_fifo};
pub use spawn::{spawn, spawn_fifo};
pub use thread::ThreadBuilder;
pub use worker::{Worker, with_worker};

/// The functions that share their names with macros, without the macros. Exists for the facade
/// `compat/rayon-core` only, which must not re-export the macros of this crate.
#[doc(hidden)]
pub mod functions {
    #[doc(inline)]
    pub use crate::join::join;
}

/// The examples of the project's front page, compiled and run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
mod front_page {}
