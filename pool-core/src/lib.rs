// Links of the README lead to pages of the repository. Here the first definition of a name counts.
#![doc = "[header]: ../src/pool_core/job/header.rs.html"]
#![doc = "[sources]: ../src/pool_core/sources.rs.html"]
#![doc = "[fair looks]: ../src/pool_core/sources/fair_looks.rs.html"]
#![doc = include_str!("../README.md")]
#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "alloc")]
extern crate alloc;
#[cfg(test)]
extern crate std;

#[macro_use]
extern crate sleep_primitives;

mod primitive;

mod broadcast;
mod deadlock;
mod fifo;
mod guard;
mod guest;
mod handle;
mod injectors;
mod isolation;
mod job;
mod join;
mod latch;
mod lend;
mod managed;
mod metrics;
mod platform;
mod polled;
mod queue;
mod random;
mod registry;
mod retries;
mod scope;
mod sources;
#[cfg(any(test, feature = "trace"))]
pub mod trace;
mod unwind;
mod worker;

pub use deadlock::{DeadlockDetection, NoDeadlockDetection};
pub use fifo::JobFifo;
pub use guard::ReadGuard;
pub use handle::HandleState;
pub use injectors::{Injectors, Priority};
pub use isolation::Isolation;
pub use job::{Job, JobContext, JobHeader, JobName, JobRef};
pub use join::ColdArg;
pub use latch::{BlockingLatch, CountLatch, Latch, SpinLatch};
pub use lend::LentWorker;
pub use metrics::{
    Clock, Counts, Event, NoMetrics, Observer, PoolMetrics, SearchEnd, WokenBy, WorkerCounters,
    WorkerMetrics, WorkerSnapshot, WorkerState, WorkerTimes,
};
pub use platform::{ManagedWorker, Platform, PoolProgress, Replaced, Waiter};
pub use polled::{PollDuties, PollState};
pub use queue::{JobInjector, JobQueue};
pub use registry::{Call, Registry, WaitingJob};
pub use scope::ScopeCore;
pub use worker::{ColdPath, WorkerShared, WorkerStorage, WorkerThread};

/// The parts of the crates below that a platform names.
pub use deque_core::{Deque, FencePrice, Fixed, Node, Order, Steal, Storage};
/// Thread progress, which frees what deques replace.
pub use progress_core as progress;
/// The accounting of blocked workers, which detects deadlocks.
#[cfg(feature = "deadlock")]
pub use sleep_core::deadlock as accounting;
pub use sleep_core::{
    ArrayChannel, AwakeSet, Busy, ChannelFull, Classic, ClassicSlot, CoreLatch, Hint, HintChannel,
    HintSlot, Hints, IdlePolicy, Inline, Jec, LendSeats, NewJobs, Origin, Parker, Purpose, Relax,
    Searchers, SleepProtocol, Slot, Sockets, TooManyWorkers, UnknownWorker, WorkerIndex,
};

#[cfg(test)]
mod testing;
