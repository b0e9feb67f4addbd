#![doc = include_str!("../README.md")]

mod broadcast;
mod builder;
mod configuration;
mod handlers;
mod join;
mod registry;
mod scope;
mod spawn;
mod thread_pool;
pub mod tlv;
mod worker_local;

pub use broadcast::{broadcast, spawn_broadcast};
pub use builder::ThreadPoolBuilder;
#[allow(deprecated)]
pub use configuration::{Configuration, initialize};
pub use join::{join, join_context};
pub use registry::{Registry, mark_blocked, mark_unblocked};
pub use scope::{Scope, ScopeFifo, in_place_scope, in_place_scope_fifo, scope, scope_fifo};
pub use spawn::{spawn, spawn_fifo};
pub use thread_pool::ThreadPool;
pub use worker_local::WorkerLocal;

#[doc(inline)]
pub use pool_std::{
    BroadcastContext, FnContext, ThreadBuilder, Yield, current_num_threads,
    current_thread_has_pending_tasks, current_thread_index, max_num_threads, yield_local,
    yield_now,
};
#[doc(inline)]
pub use rayon_names::error::ThreadPoolBuildError;

#[cfg(doctest)]
drop_in_tests::must_not_compile!();
