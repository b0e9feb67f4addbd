//! The outcome of an explored program: its choices, and how it failed.

use std::sync::Arc;

use super::{PanicHandler, Record, Turns};
use crate::sync::lock;

impl Turns {
    /// Returns the number of choices so far, and the switches, if they are recorded.
    pub(in crate::seeded) fn record(&self) -> Record {
        let state = self.lock();
        (state.choices.made(), state.choices.record().to_vec())
    }

    /// Returns a handler for panics of spawned jobs if a program is explored. For pools that have
    /// no handler.
    pub(crate) fn panic_handler(self: &Arc<Self>) -> Option<Box<PanicHandler>> {
        self.first_panics.as_ref()?;
        let turns = self.clone();
        Some(Box::new(move |payload| {
            if let Some(panics) = &turns.first_panics {
                panics.note_spawned_job(payload, turns.record());
            }
        }))
    }

    /// Records the current schedule, for an explored program that panics.
    pub(in crate::seeded) fn note_panic_of_program(&self) {
        if let Some(panics) = &self.first_panics {
            let record = self.record();
            lock(&panics.of_program).get_or_insert(record);
        }
    }

    /// Returns how a program failed, by itself or in a job that it spawned, and the schedule at
    /// that time. If no panic was recorded, returns the current schedule.
    pub(in crate::seeded) fn take_outcome(
        &self,
        result: Result<(), String>,
    ) -> (Option<String>, Record) {
        let panics = self.first_panics.as_ref();
        match result {
            Err(failure) => {
                let record = panics.and_then(|it| lock(&it.of_program).take());
                (Some(failure), record.unwrap_or_else(|| self.record()))
            }
            Ok(()) => match panics.and_then(|it| lock(&it.of_spawned_jobs).take()) {
                Some((failure, record)) => (Some(failure), record),
                None => (None, self.record()),
            },
        }
    }
}
