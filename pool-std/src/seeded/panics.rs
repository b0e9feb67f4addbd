//! The first panics of an explored program.

use std::any::Any;

use crate::{
    JoinError,
    panics::drop_quietly,
    sync::{Mutex, lock},
};

/// What a schedule has chosen: the number of choices, and the switches among them.
pub(super) type Record = (u64, Vec<(u64, usize)>);

/// The first panics of a program, in all of its pools, and the schedule at that time. After a
/// panic, the workers make more choices until the exploring thread notices it, and their number
/// varies.
#[derive(Default)]
pub(super) struct FirstPanics {
    /// The panic of the program itself.
    pub(super) of_program: Mutex<Option<Record>>,
    /// The panic that no caller waits for.
    pub(super) of_spawned_jobs: Mutex<Option<(String, Record)>>,
}

impl FirstPanics {
    /// Records the first panic that no caller waits for. Called by the worker that has the turn.
    pub(super) fn note_spawned_job(&self, payload: Box<dyn Any + Send>, record: Record) {
        let message = into_message(JoinError::panicked(payload));
        let panic = (format!("in a spawned job, {message}"), record);
        lock(&self.of_spawned_jobs).get_or_insert(panic);
    }
}

/// Returns the message of an error. Dropping its payload runs code of the user, which may panic.
pub(super) fn into_message(error: JoinError) -> String {
    let message = error.to_string();
    drop_quietly(error);
    message
}
