//! The first panics of a program that is explored.

use std::any::Any;

use crate::{
    JoinError,
    panics::drop_quietly,
    sync::{Mutex, lock},
};

/// What a schedule has chosen: how many choices, and the switches among them.
pub(super) type Record = (u64, Vec<(u64, usize)>);

/// The first panics of a program, in all of its pools, and what the schedule was then. After a
/// panic, the workers make choices for as long as the thread that explores does not look, which is
/// not the same each time.
#[derive(Default)]
pub(super) struct FirstPanics {
    of_program: Mutex<Option<Record>>,
    of_spawned_jobs: Mutex<Option<(String, Record)>>,
}

impl FirstPanics {
    /// Keeps what the schedule was when the program itself panicked.
    pub(super) fn note_program(&self, record: Record) {
        lock(&self.of_program).get_or_insert(record);
    }

    /// Keeps a panic for which no caller waits. For the worker that has the turn.
    pub(super) fn note_spawned_job(&self, payload: Box<dyn Any + Send>, record: Record) {
        let message = into_message(JoinError::panicked(payload));
        let panic = (format!("in a spawned job, {message}"), record);
        lock(&self.of_spawned_jobs).get_or_insert(panic);
    }

    pub(super) fn take_program(&self) -> Option<Record> {
        lock(&self.of_program).take()
    }

    pub(super) fn take_spawned_job(&self) -> Option<(String, Record)> {
        lock(&self.of_spawned_jobs).take()
    }
}

/// Returns what an error says. The drop of its payload, which is code of the user, may panic.
pub(super) fn into_message(error: JoinError) -> String {
    let message = error.to_string();
    drop_quietly(error);
    message
}
