//! Checks for your own queues, parkers, protocols and loops.
//!
//! Errors around sleeping show up rarely: a queue that the last look skips, a missing fence, a lost
//! token. These checks make them show up at once, and in the same way in each run. Call them in a
//! test:
//!
//! | check | for | finds |
//! | --- | --- | --- |
//! | [`check_queues`] | the `has_work` of a pool | a queue that it leaves out, or sees in vain |
//! | [`check_parker`] | a [`Parker`](crate::Parker) | a token that is lost |
//! | [`check_protocol`] | a [`SleepProtocol`] | a lost wake-up, a missing fence, a wrong count |
//! | [`check_lending`] | one that [lends seats] | a lost wake-up while a guest has the seat |
//! | [`check_awake_set`] | one that [leaves sleepers out] | a job in a deque that is left out |
//! | [`Schedules`] | the loop of a pool, with its queues and protocol | a lost wake-up |
//!
//! [`SleepProtocol`]: crate::SleepProtocol
//! [lends seats]: crate::LendSeats
//! [leaves sleepers out]: crate::AwakeSet
//!
//! `Schedules` runs the threads in many orders, with the protocol [`LastLook`] or the pool's own.
//!
//! The feature `testing` adds this module. It needs `std`, and has no effect on targets without an
//! operating system. While it is enabled, each fence and each look at a latch costs one more load,
//! so enable it only for tests:
//!
//! ```toml
//! [dev-dependencies]
//! sleep-core = { version = "0.1", features = ["testing"] }
//! ```

#[cfg(all(test, feature = "deadlock"))]
mod fixtures;
#[cfg(not(loom))]
pub(crate) mod hook;
#[cfg(not(loom))]
mod last_look;
#[cfg(not(loom))]
mod memory;
#[cfg(not(loom))]
mod parker;
#[cfg(not(loom))]
mod parkers;
#[cfg(not(loom))]
mod protocol;
#[cfg(not(loom))]
mod queues;
#[cfg(not(loom))]
mod schedule;
#[cfg(not(loom))]
mod schedules;
#[cfg(all(test, not(loom)))]
mod tests;

#[cfg(all(test, feature = "deadlock"))]
pub(crate) use fixtures::*;
#[cfg(not(loom))]
pub use {
    last_look::LastLook,
    parker::ScheduledParker,
    parkers::check_parker,
    protocol::{check_awake_set, check_lending, check_protocol},
    queues::{Queue, check_queues},
    schedules::{Schedules, point},
};
