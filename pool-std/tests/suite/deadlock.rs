//! Which deadlocks are reported, and that nothing else is.

mod false_reports;
mod reports;

/// How often a test tries to hit the moment in which a mistake would show.
const ROUNDS: usize = if cfg!(miri) { 3 } else { 2_000 };
