//! What a program answers: the object that pool-std's module `live` describes.

use std::fmt;

use serde::{Deserialize, Deserializer};

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Answer {
    pub(super) process: u32,
    #[serde(deserialize_with = "printable")]
    pub(super) program: String,
    pub(super) time_ns: u64,
    pub(super) pools: Vec<Pool>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Pool {
    pub(super) number: u64,
    pub(super) jobs_from_outside: u64,
    pub(super) workers: Vec<Worker>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Worker {
    pub(super) state: String,
    pub(super) label: Option<String>,
    pub(super) blocked_ns: Option<u64>,
    pub(super) queued: u64,
    pub(super) jobs: u64,
    pub(super) stolen: u64,
    pub(super) wakes: u64,
    pub(super) active_ns: u64,
    pub(super) idle_ns: u64,
    pub(super) asleep_ns: u64,
    pub(super) job: Option<Job>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Job {
    pub(super) name: String,
    /// The part of it that runs, if the program has given it a name.
    pub(super) part: Option<String>,
    pub(super) for_ns: u64,
    pub(super) depth: u64,
}

/// Reads a string without its control characters, which a terminal would take for commands.
fn printable<'d, D: Deserializer<'d>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    Ok(text.replace(char::is_control, " "))
}

impl fmt::Display for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if let Some(part) = &self.part {
            write!(f, ": {part}")?;
        }
        match self.depth {
            0 => Ok(()),
            1 => f.write_str(" (+1 that waits)"),
            depth => write!(f, " (+{depth} that wait)"),
        }
    }
}
