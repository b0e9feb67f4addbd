//! What a waker does with a worker that it has claimed.

use super::counters::Shared;
use crate::pool::{
    guard::Guard,
    world::{Slot, World},
};

/// How far a waker is with a worker that it has claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::pool) enum Wake {
    Counts,
    ClearsBit,
    Releases,
    /// It has released the worker, but not lowered the count, if that is left out before.
    CountsLate,
    Unparks,
}

impl Wake {
    /// Returns what a waker does first that has claimed a worker.
    pub(super) fn first(without: &[Guard]) -> Self {
        if without.contains(&Guard::WakerCounts) {
            Self::ClearsBit
        } else {
            Self::Counts
        }
    }
}

/// Makes the next step of a waker. Returns what it does after that, or `None` if it has done all,
/// and what it has done.
///
/// # Errors
/// The rule that the step breaks.
pub(super) fn step(
    world: &mut World,
    shared: &mut Shared,
    without: &[Guard],
    worker: u8,
    wake: Wake,
) -> Result<(Option<Wake>, &'static str), String> {
    let has = |guard| !without.contains(&guard);
    Ok(match wake {
        Wake::Counts => {
            shared.lower_sleeping()?;
            let next = match has(Guard::BitClearedFirst) {
                true => Wake::ClearsBit,
                false => Wake::Releases,
            };
            (Some(next), "counts it as awake")
        }
        Wake::ClearsBit => {
            shared.bits[usize::from(worker)] = false;
            let next = match has(Guard::BitClearedFirst) {
                true => Wake::Releases,
                false => Wake::Unparks,
            };
            (Some(next), "clears its bit")
        }
        Wake::Releases => {
            world.place(worker).slot = Slot::Awake;
            let next = if !has(Guard::WakerCounts) {
                Wake::CountsLate
            } else if !has(Guard::BitClearedFirst) {
                Wake::ClearsBit
            } else {
                Wake::Unparks
            };
            (Some(next), "releases it")
        }
        Wake::CountsLate => {
            shared.lower_sleeping()?;
            (Some(Wake::Unparks), "counts it as awake")
        }
        Wake::Unparks => {
            world.unpark(worker, has(Guard::Token));
            (None, "unparks it")
        }
    })
}
