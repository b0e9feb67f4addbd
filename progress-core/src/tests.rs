use std::{
    boxed::Box,
    sync::{
        Arc as StdArc,
        atomic::{AtomicUsize as Tally, Ordering::SeqCst},
    },
};

#[cfg(not(loom))]
use sleep_core::Parker;
use sleep_primitives::RawWord;

use super::*;
use crate::{moment::is_reached, testing::TestParker};

#[cfg(not(loom))]
mod alone;
#[cfg(not(loom))]
mod callbacks;
#[cfg(not(loom))]
mod forgotten;
#[cfg(loom)]
mod loom;
#[cfg(not(loom))]
mod nesting;
#[cfg(not(loom))]
mod operations;
#[cfg(not(loom))]
mod refused;
#[cfg(not(loom))]
mod sequential;
#[cfg(not(loom))]
mod threads;
#[cfg(not(loom))]
mod unowned;
#[cfg(not(loom))]
mod unwinding;

type TestDomain = (TestParker, Box<[Participant<TestParker>]>);
type TestProgress = Progress<TestDomain>;

fn progress(participants: usize) -> TestProgress {
    starting_at(moment::FIRST, participants)
}

/// Returns the value that is so many steps before the wrap-around.
#[cfg(not(loom))]
fn before_the_end(steps: u8) -> RawWord {
    moment::FIRST.wrapping_sub(moment::STEP * (RawWord::from(steps) + 1))
}

fn starting_at(current: RawWord, participants: usize) -> TestProgress {
    let participants = (0..participants)
        .map(|_| Participant::new(TestParker::new()))
        .collect();
    Progress::starting_at(current, participants)
}

/// Creates an operation that counts its runs.
fn counting(tally: &StdArc<Tally>) -> Box<Operation<impl FnOnce() + Send + 'static>> {
    let tally = tally.clone();
    Box::new(Operation::new(move || {
        tally.fetch_add(1, SeqCst);
    }))
}
