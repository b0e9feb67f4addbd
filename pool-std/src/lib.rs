// Links of the README lead to pages of the repository. Here the first definition of a name counts.
#![doc = "[hangs]: guide::hangs"]
#![doc = "[reading]: mod@progress"]
#![doc = "[waiting]: guide::waiting"]
#![doc = include_str!("../README.md")]
//!
//! # Where to start
//!
//! [`join()`], [`scope()`], [`spawn()`] and [`broadcast()`] run jobs on the current pool;
//! [`ThreadPoolBuilder`] builds a [`ThreadPool`]; [`progress`] is for reading without locks;
//! [`blocking()`] and [`mark_blocked`] are for jobs that wait, and a
//! [`deadlock_handler`](ThreadPoolBuilder::deadlock_handler) is called when all workers wait. The
//! [`guide`] explains which function to use for which wait, and what to do if a program hangs.

#![cfg_attr(docsrs, feature(doc_cfg))]

// rustdoc shows the methods of a type in the order of the modules. What is used first comes first.
mod thread_pool;

mod api;
mod blocking;
mod clock;
#[cfg(feature = "context")]
pub mod context;
pub mod driver;
#[cfg(feature = "metrics-facade")]
pub mod facade;
mod fence;
mod fork;
pub mod guide;
mod limit;
#[cfg(feature = "live")]
pub mod live;
mod log;
mod metrics;
mod panics;
mod parker;
mod platform;
pub mod progress;
mod seeded;
mod sleep;
mod sync;
mod system;
#[cfg(feature = "trace")]
pub mod trace;
mod worker;

// Of these modules, the crate itself needs something without the feature too. It has its own name
// for them: if `context` or `trace` were a private module then, the compiler would say that it is
// private. As it is, it says which feature is missing.
#[cfg(feature = "context")]
use context as job_context;
#[cfg(not(feature = "context"))]
#[path = "no_context.rs"]
mod job_context;
#[cfg(feature = "trace")]
use trace as tracer;
#[cfg(not(feature = "trace"))]
#[path = "no_trace.rs"]
mod tracer;

pub use api::{
    AbortOnDropHandle, BroadcastContext, CancelOnDrop, CancelToken, Cancelled, CurrentPool,
    FnContext, JoinError, JoinHandle, JoinSet, Scope, ScopeFifo, ScopedJoinHandle, TryScope, Yield,
    block_in_place, block_on, broadcast, in_place_scope, in_place_scope_fifo, isolate, join,
    join_context, join_n, labeled, scope, scope_fifo, spawn, spawn_background, spawn_broadcast,
    spawn_fifo, spawn_future, spawn_handle, spawn_handle_in, spawn_handle_with, spawn_many,
    spawn_urgent, try_join, try_scope, with_isolation, yield_local, yield_now,
};
pub use blocking::{
    blocked::Blocked,
    blocking,
    error::MarkError,
    mark_all_unblocked, mark_blocked,
    report::DeadlockReport,
    sections::BlockedSection,
    state::{Activity, PoolState, WorkerStatus, current_state},
};
pub use fence::ProcessBarrier;
pub use metrics::{PoolMetrics, current_metrics};
pub use parker::ParkerKind;
pub use pool_core::{
    Counts, IdlePolicy, Isolation, Priority, Relax, Searchers, WorkerMetrics, WorkerState,
    WorkerTimes,
};
pub use seeded::{ExploreError, Explorer, FailedProgram, NoSchedule, Schedule, explore};
pub use sleep::{SleepKind, UnknownSleepKind};
pub use thread_pool::{
    ThreadPool,
    builder::ThreadPoolBuilder,
    current::{
        current_num_threads, current_thread_has_pending_tasks, current_thread_index,
        max_num_threads,
    },
    error::{ActiveWorkersError, BuildError, ShutdownError, WaitIdleError},
    global::{forbid_global_pool, take_global_pool},
    handle::PoolHandle,
};
pub use worker::{
    Worker,
    local::{WorkerLocal, WorkerLocalError},
    thread::ThreadBuilder,
    with_worker,
};

/// The examples of the book's page about blocking, compiled and run as tests.
#[cfg(doctest)]
#[doc = include_str!("../docs/blocking.md")]
mod book_page {}

/// The examples of the book's page about priorities and contexts, likewise.
#[cfg(all(doctest, feature = "context"))]
#[doc = include_str!("../docs/jobs.md")]
mod jobs_page {}

/// The examples of the book's page about reading without locks, likewise.
#[cfg(doctest)]
#[doc = include_str!("../docs/reading.md")]
mod reading_page {}

/// The examples of the book's page for authors of libraries, likewise.
#[cfg(doctest)]
#[doc = include_str!("../docs/library.md")]
mod library_page {}

/// The example of the book's page about panics, likewise.
#[cfg(doctest)]
#[doc = include_str!("../docs/panics.md")]
mod panics_page {}

/// The examples of the book's page about elastic pools, likewise.
#[cfg(doctest)]
#[doc = include_str!("../docs/elastic.md")]
mod elastic_page {}

/// The example of the book's page about sleep protocols, likewise.
#[cfg(doctest)]
#[doc = include_str!("../docs/sleep-protocols.md")]
mod sleep_protocols_page {}

/// The example of the book's first page, likewise.
#[cfg(doctest)]
#[doc = include_str!("../docs/first-program.md")]
mod first_page {}

/// The examples of the project's front page, compiled and run as tests.
#[cfg(doctest)]
#[doc = include_str!("../docs/front-page.md")]
mod front_page {}
