#![doc = include_str!("../README.md")]

mod builder;
mod configuration;
mod functions;
mod thread_pool;

pub use builder::ThreadPoolBuilder;
#[allow(deprecated)]
pub use configuration::{Configuration, initialize};
pub use functions::{join, join_context, scope, scope_fifo};
#[doc(inline)]
pub use pool_std::{
    BroadcastContext, FnContext, Scope, ScopeFifo, ThreadBuilder, Yield, broadcast,
    current_num_threads, current_thread_has_pending_tasks, current_thread_index, in_place_scope,
    in_place_scope_fifo, max_num_threads, spawn, spawn_broadcast, spawn_fifo, yield_local,
    yield_now,
};
#[doc(inline)]
pub use rayon_names::error::ThreadPoolBuildError;
pub use thread_pool::ThreadPool;

#[cfg(doctest)]
drop_in_tests::must_not_compile!();
