#![doc = include_str!("../README.md")]

mod broadcast;
mod extras;
mod join;
mod pool;
mod registry;
mod scope;
mod spawn;
pub mod tlv;
mod worker_local;

// These files are rayon-core's: the names in them mean the same in both crates, and what differs is
// in `extras` and in `pool`.
#[path = "../../rayon-core/src/builder.rs"]
mod builder;
#[cfg(doctest)]
#[path = "../../rayon-core/src/compile_fail.rs"]
mod compile_fail;
#[path = "../../rayon-core/src/configuration.rs"]
mod configuration;
#[path = "../../rayon-core/src/error.rs"]
mod error;
#[path = "../../rayon-core/src/thread_pool.rs"]
mod thread_pool;
#[path = "../../rayon-core/src/thread_spawn.rs"]
mod thread_spawn;

pub use broadcast::{broadcast, spawn_broadcast};
pub use builder::ThreadPoolBuilder;
#[allow(deprecated)]
pub use configuration::{Configuration, initialize};
pub use error::ThreadPoolBuildError;
pub use join::{join, join_context};
pub use registry::{Registry, mark_blocked, mark_unblocked};
pub use scope::{Scope, ScopeFifo, in_place_scope, in_place_scope_fifo, scope, scope_fifo};
pub use spawn::{spawn, spawn_fifo};
pub use thread_pool::ThreadPool;
pub use worker_local::WorkerLocal;

use pool::Pool;

#[doc(inline)]
pub use pool_std::{
    BroadcastContext, FnContext, ThreadBuilder, Yield, current_num_threads,
    current_thread_has_pending_tasks, current_thread_index, max_num_threads, yield_local,
    yield_now,
};
