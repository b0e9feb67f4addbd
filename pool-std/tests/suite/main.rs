//! The tests of the pool as programs see it, in one program, which is linked once.
//!
//! The tests of a program run at the same time in one process. A test whose process must be alone
//! has a program of its own beside this directory: it counts all memory or all threads, replaces
//! the allocator, builds the global pool, or forbids system calls to all threads. Here, such a test
//! starts this program once more, with its own name.

mod adopted;
mod block_in_place;
mod blocking;
mod build;
mod cancel;
mod concurrent_map;
#[cfg(feature = "context")]
mod context;
mod crowd;
mod current_pool;
mod deadlock;
mod driver;
mod elastic;
mod elastic_deadlock;
mod end;
mod environment;
mod explore;
#[cfg(feature = "metrics-facade")]
mod facade;
mod future;
mod guests;
mod handlers;
mod isolation;
mod jobserver;
mod join;
mod join_many;
mod join_set;
mod lazy;
#[cfg(all(feature = "live", unix, not(miri)))]
mod live;
mod metrics;
mod own_turns;
#[cfg(all(feature = "pinning", target_os = "linux", not(miri)))]
mod pinning;
mod pool;
mod priority;
mod progress;
mod rcu;
mod scenarios;
mod scope;
mod second_panics;
mod settings;
#[cfg(all(feature = "signal", target_os = "linux"))]
mod state_signal;
#[cfg(feature = "trace")]
mod trace;
mod worker_local;

#[path = "../support/again.rs"]
mod again;
#[path = "../support/mod.rs"]
mod support;
