// Links of the README lead to pages of the repository. Here the first definition of a name counts.
#![doc = "[jec]: protocol::jec"]
#![doc = "[sockets]: protocol::sockets"]
#![doc = "[classic]: protocol::classic"]
#![doc = "[hints]: protocol::hints"]
#![doc = "[busy]: protocol::busy"]
#![cfg_attr(feature = "deadlock", doc = "[deadlock]: deadlock")]
#![cfg_attr(
    not(feature = "deadlock"),
    doc = "[deadlock]: https://docs.rs/sleep-core/latest/sleep_core/deadlock"
)]
#![doc = include_str!("../README.md")]
#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(any(test, all(feature = "testing", not(any(loom, target_os = "none")))))]
extern crate std;

#[macro_use]
extern crate sleep_primitives;

mod hook;
mod primitive;

#[cfg(feature = "deadlock")]
pub mod deadlock;
mod index;
mod latch;
mod parker;
mod policy;
pub mod protocol;
mod stop;

pub use index::{TooManyWorkers, UnknownWorker, WorkerIndex};
pub use latch::CoreLatch;
pub use parker::Parker;
pub use policy::{IdlePolicy, Purpose, Relax, Searchers};
pub use protocol::{
    AwakeSet, Hint, Inline, LendSeats, NewJobs, Origin, SleepProtocol,
    busy::Busy,
    classic::{Classic, ClassicSlot},
    hints::{ArrayChannel, ChannelFull, HintChannel, HintSlot, Hints},
    jec::{Jec, Slot},
    set_latch,
    sockets::Sockets,
};
pub use stop::StopLatch;

#[cfg(any(
    all(test, feature = "deadlock"),
    all(feature = "testing", not(any(loom, target_os = "none")))
))]
pub mod testing;
