#![doc = include_str!("../README.md")]
#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "alloc")]
extern crate alloc;
#[cfg(test)]
extern crate std;
#[macro_use]
extern crate sleep_primitives;

mod batch;
mod blocking;
mod delays;
mod domain;
mod due;
mod leader;
mod managed;
mod moment;
mod operation;
mod participant;
mod pin;
mod progress;
mod reader;
#[cfg(feature = "alloc")]
mod reclaimable;
mod registration;
mod stack;
mod state;
mod unmanaged;
mod unowned;
mod waiting;
mod wanted;

pub use blocking::Blocked;
pub use domain::{Domain, ParticipantStorage};
pub use due::{DueOperation, Operations};
pub use managed::{Active, ManagedThread, TooManyParticipants};
pub use moment::Moment;
pub use operation::{IntoOperation, Operation};
pub use participant::Participant;
pub use pin::Pinned;
pub use progress::Progress;
pub use reader::{Reader, Reading};
#[cfg(feature = "alloc")]
pub use reclaimable::Reclaimable;
pub use sleep_primitives::{AsymmetricFence, FullFences};
pub use unmanaged::{Delay, Guard};

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
