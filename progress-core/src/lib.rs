#![doc = include_str!("../README.md")]
#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "alloc")]
extern crate alloc;
#[cfg(test)]
extern crate std;
#[macro_use]
extern crate sleep_primitives;

mod active;
mod blocking;
mod delay;
mod domain;
mod guard;
mod leader;
mod managed;
mod moment;
mod operation;
mod participant;
mod progress;
mod queue;
mod reader;
#[cfg(feature = "alloc")]
mod reclaimable;
mod state;
mod unowned;
mod unwind;
mod waiting;

pub use active::{Active, Pinned};
pub use blocking::Blocked;
pub use delay::Delay;
pub use domain::{Domain, ParticipantStorage};
pub use guard::Guard;
pub use managed::{ManagedThread, TooManyParticipants};
pub use moment::Moment;
pub use operation::{DueOperation, IntoOperation, Operation, Operations};
pub use participant::Participant;
pub use progress::Progress;
pub use reader::{Reader, Reading};
#[cfg(feature = "alloc")]
pub use reclaimable::Reclaimable;
/// How a managed thread waits: the type of an instance names a parker.
pub use sleep_core::Parker;
pub use sleep_primitives::{AsymmetricFence, FullFences};

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
