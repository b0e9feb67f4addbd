//! The first panic of a program that is explored.

use std::{any::Any, sync::Mutex};

use crate::{
    JoinError,
    panics::{drop_quietly, lock},
};

/// What a schedule has chosen: how many choices, and the switches among them.
pub(super) type Record = (u64, Vec<(u64, usize)>);

/// The first panic of a program, in any of its pools.
#[derive(Default)]
pub(super) struct FirstPanic {
    /// What the schedule was. After the panic, the workers make choices for as long as the thread
    /// that explores does not look, which is not the same each time.
    record: Mutex<Option<Record>>,
    /// The first one of a spawned job.
    message: Mutex<Option<String>>,
}

impl FirstPanic {
    /// Keeps what the schedule was. For the worker that has the turn.
    pub(super) fn record(&self, record: impl FnOnce() -> Record) {
        lock(&self.record).get_or_insert_with(record);
    }

    /// Keeps the message of a panic for which no caller waits.
    pub(super) fn note(&self, payload: Box<dyn Any + Send>) {
        let message = format!(
            "in a spawned job, {}",
            into_message(JoinError::panicked(payload))
        );
        lock(&self.message).get_or_insert(message);
    }

    pub(super) fn take_record(&self) -> Option<Record> {
        lock(&self.record).take()
    }

    pub(super) fn take_message(&self) -> Option<String> {
        lock(&self.message).take()
    }
}

/// Returns what an error says. The drop of its payload, which is code of the user, may panic.
pub(super) fn into_message(error: JoinError) -> String {
    let message = error.to_string();
    drop_quietly(error);
    message
}
