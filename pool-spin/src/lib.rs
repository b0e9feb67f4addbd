#![doc = include_str!("../README.md")]
#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(test)]
extern crate std;

#[cfg(all(feature = "host", not(loom), not(target_os = "none")))]
pub mod host;
#[macro_use]
extern crate sleep_primitives;

#[cfg(all(feature = "deadlock", not(loom)))]
pub mod deadlock;
mod primitive;

mod machine;
// Statics cannot hold loom's atomics; the parts of a pool are modeled in their own crates.
#[cfg(not(loom))]
mod pool;

/// The crate whose mutexes an [`InterruptLock`] makes.
#[cfg(feature = "deadlock")]
pub use lock_api;
#[cfg(any(feature = "deadlock", loom))]
pub use machine::InterruptLock;
#[cfg(all(not(loom), target_arch = "aarch64"))]
pub use machine::TpidrEl1;
#[cfg(any(
    target_arch = "aarch64",
    all(target_arch = "arm", target_os = "none"),
    target_arch = "riscv32",
    target_arch = "riscv64",
    target_arch = "x86_64"
))]
pub use machine::arch;
#[cfg(not(loom))]
pub use machine::{CoreLocal, CoreNumber, CoreParker, CorePointer, Machine, Numbered};
pub use machine::{Events, HltIpi, Interrupts, Ipi, Spin, Wfe, WfiIpi};
#[cfg(all(not(loom), any(target_arch = "riscv32", target_arch = "riscv64")))]
pub use machine::{Mscratch, Sscratch};
#[cfg(not(loom))]
pub use pool::{
    Arena, CLOSURE_WORDS, Cores, DefaultProtocol, ExitReason, PoolMetrics, ReleaseError, RunError,
    Scope, SpawnError, SpawnErrorReason, SpinPool, StillRunning, System, Task, Traced, Worker,
};

#[cfg(not(loom))]
pub use pool_core::{
    ArrayChannel, AwakeSet, Busy, ChannelFull, Classic, ClassicSlot, Counts, Hint, HintChannel,
    HintSlot, Hints, IdlePolicy, Inline, Isolation, Jec, LendSeats, NewJobs, Origin, Parker,
    Priority, Purpose, Relax, Searchers, SleepProtocol, Slot, UnknownWorker, WorkerMetrics,
    WorkerState, WorkerTimes, progress,
};
/// What a worker keeps of what it did, for [`SpinPool::trace`].
#[cfg(all(feature = "trace", not(loom)))]
pub use pool_core::{
    Event, JobName, SearchEnd, WokenBy,
    trace::{TraceEvent, TraceEvents, TraceSlot},
};
