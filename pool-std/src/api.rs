//! The free functions, which use the current pool, and the types that their jobs are given.

pub(crate) mod block;
mod block_on;
pub(crate) mod broadcast;
mod cancel;
pub(crate) mod current_pool;
pub(crate) mod handle;
mod isolate;
mod job_memory;
pub(crate) mod join;
mod join_many;
mod label;
pub(crate) mod priority;
pub(crate) mod scope;
mod scope_job;
pub(crate) mod spawn;
pub(crate) mod yielding;

pub use block::block_in_place;
pub use block_on::block_on;
pub use broadcast::{BroadcastContext, broadcast, spawn_broadcast};
pub use cancel::{CancelOnDrop, CancelToken, Cancelled, TryScope, try_join, try_scope};
pub use current_pool::CurrentPool;
pub use handle::{
    AbortOnDropHandle, JoinError, JoinHandle, JoinSet, ScopedJoinHandle, spawn_future,
    spawn_handle, spawn_handle_in, spawn_handle_with,
};
pub use isolate::{isolate, with_isolation};
pub use join::{FnContext, join, join_context};
pub use join_many::join_n;
pub use label::labeled;
pub use priority::{spawn_background, spawn_urgent};
pub use scope::{Scope, ScopeFifo, in_place_scope, in_place_scope_fifo, scope, scope_fifo};
pub use spawn::{spawn, spawn_fifo, spawn_many};
pub use yielding::{Yield, yield_local, yield_now};
