#![doc = include_str!("../README.md")]

mod builder;
#[cfg(doctest)]
mod compile_fail;
mod configuration;
mod error;
mod extras;
mod thread_pool;
mod thread_spawn;

pub use builder::ThreadPoolBuilder;
#[allow(deprecated)]
pub use configuration::{Configuration, initialize};
pub use error::ThreadPoolBuildError;
pub use thread_pool::ThreadPool;

/// What [`ThreadPool`] forwards to.
use pool_std::ThreadPool as Pool;

/// The functions that differ for programs of rayon.
#[doc(inline)]
pub use pool_std::functions::{join, join_context, scope, scope_fifo};
#[doc(inline)]
pub use pool_std::{
    BroadcastContext, FnContext, Scope, ScopeFifo, ThreadBuilder, Yield, broadcast,
    current_num_threads, current_thread_has_pending_tasks, current_thread_index, in_place_scope,
    in_place_scope_fifo, max_num_threads, spawn, spawn_broadcast, spawn_fifo, yield_local,
    yield_now,
};
