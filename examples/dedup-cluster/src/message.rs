//! What a parent and the processes that it started say to each other: lines of JSON on standard
//! input and output.

use std::io::Write;

use serde::{Deserialize, Serialize};

use crate::Report;

/// What a process says to its parent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Event {
    /// It listens on this address.
    Listening(String),
    /// What it has found to do, for itself or for all.
    Total {
        /// The number of files.
        files: u64,
        /// The bytes in them.
        bytes: u64,
    },
    /// What it has hashed so far.
    Done {
        /// The number of files.
        files: u64,
        /// The bytes in them.
        bytes: u64,
    },
    /// The report on all processes, from the first one.
    Report(Box<Report>),
}

impl Event {
    /// Sends the event to the parent. If the parent has ended, this process soon ends too.
    pub(crate) fn send(&self) {
        if let Ok(line) = serde_json::to_string(self) {
            let mut out = std::io::stdout().lock();
            let _ = writeln!(out, "{line}").and_then(|()| out.flush());
        }
    }
}

/// What a parent says to each process when all of them listen.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Start {
    /// A number by which the processes of this run know each other.
    pub(crate) run: u64,
    /// The addresses of all processes.
    pub(crate) addresses: Vec<String>,
}
