//! What a program that is explored leaves: its choices, and how it has failed.

use std::sync::Arc;

use super::{FirstPanics, PanicHandler, Record, Turns};

impl Turns {
    /// Returns the number of choices so far, and the switches, if they are recorded.
    pub(in crate::seeded) fn record(&self) -> Record {
        let state = self.lock();
        (state.choices.made(), state.choices.record().to_vec())
    }

    /// Returns what handles the panics of spawned jobs, in pools without a handler, if a program is
    /// explored.
    pub(crate) fn panic_handler(self: &Arc<Self>) -> Option<Box<PanicHandler>> {
        self.first_panics.as_ref()?;
        let turns = self.clone();
        Some(Box::new(move |payload| {
            if let Some(panics) = &turns.first_panics {
                panics.note_spawned_job(payload, turns.record());
            }
        }))
    }

    /// Keeps what the schedule is, for a program that is explored and panics.
    pub(in crate::seeded) fn note_panic_of_program(&self) {
        if let Some(panics) = &self.first_panics {
            panics.note_program(self.record());
        }
    }

    /// Returns how a program has failed, by itself or in a job that it has spawned, and what the
    /// schedule was then, or is now.
    pub(in crate::seeded) fn take_outcome(
        &self,
        result: Result<(), String>,
    ) -> (Option<String>, Record) {
        let panics = self.first_panics.as_ref();
        match result {
            Err(failure) => {
                let record = panics.and_then(FirstPanics::take_program);
                (Some(failure), record.unwrap_or_else(|| self.record()))
            }
            Ok(()) => match panics.and_then(FirstPanics::take_spawned_job) {
                Some((failure, record)) => (Some(failure), record),
                None => (None, self.record()),
            },
        }
    }
}
