//! What this crate's tests and models share.

#[cfg(all(not(loom), feature = "alloc"))]
pub(crate) mod history;
#[cfg(loom)]
pub(crate) mod interrupt;
#[cfg(all(not(loom), feature = "alloc"))]
mod ledger;
#[cfg(not(loom))]
mod threads;

#[cfg(all(not(loom), feature = "alloc"))]
pub(crate) use ledger::{Ledger, Numbered};
#[cfg(not(loom))]
pub(crate) use threads::{MANY, Taken, with_thieves};
#[cfg(all(not(loom), feature = "alloc"))]
pub(crate) use threads::{Tally, delay, delay_often, interrupt, interrupted_everywhere};
