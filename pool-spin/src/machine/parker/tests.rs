use pool_core::Parker;

use super::*;
#[cfg(loom)]
use crate::machine::Events;
use crate::machine::{Interrupts, Ipi};

#[cfg(not(loom))]
pub(super) mod events;
#[cfg(not(loom))]
mod handlers;
#[cfg(loom)]
mod loom;
#[cfg(not(loom))]
mod threads;
