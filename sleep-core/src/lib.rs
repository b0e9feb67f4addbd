#![doc = include_str!("../README.md")]
#![no_std]
#![deny(
    missing_docs,
    unsafe_op_in_unsafe_fn,
    clippy::undocumented_unsafe_blocks
)]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(test)]
extern crate std;

#[macro_use]
extern crate sleep_primitives;

mod primitive;

mod counters;
mod idle;
mod index;
mod latch;
mod parker;
mod sleep;
mod slot;

pub use counters::{AtomicCounters, Counters, DefaultWidths, JobsEventCounter, Widths, Word};
pub use idle::{IdlePolicy, IdleState, Relax};
pub use index::{TooManyWorkers, UnknownWorker, WorkerIndex};
pub use latch::CoreLatch;
pub use parker::Parker;
pub use sleep::Sleep;
pub use slot::Slot;

#[cfg(test)]
mod testing;
