//! Finds duplicate files with several processes: an example program of `pool-std` and `timely`.
//!
//! Each process hashes its share of the files on a pool of its own. The digests are exchanged so
//! that equal ones meet in one process, which groups them. `timely` moves the data and knows when
//! all of it has arrived; the pool balances the work within a process.

mod cluster;
mod connect;
mod dataflow;
mod digest_list;
mod error;
mod hosts;
mod member;
mod message;
mod name;
mod records;
mod report;
mod usage;

pub use cluster::{Children, Options, run};
pub use error::ClusterError;
pub use hosts::read_hosts;
pub use member::{LOST_PEER, Launched, Member, exit_on_panic};
pub use message::Event;
pub use name::{escape, unescape};
pub use report::{Report, ReportedGroup, Statistics, WorkerUse};
