//! What pools tell the crate `tracing`, with the feature of this name.
//!
//! Each event is told where the pool calls a handler of the program anyway, with the same
//! protection: a subscriber may do there what the handler may.
//!
//! | event | level | fields | protected as |
//! | --- | --- | --- | --- |
//! | a thread of a pool begins, ends | debug | `worker` | the start handler, the exit handler |
//! | a job panics, for whose end no caller waits | error | `what`, `message` | the panic handler |
//! | a deadlock is reported | warn | `report` | the deadlock handler |
//!
//! Without the feature, all of it is compiled away.

use std::any::Any;

use crate::DeadlockReport;

/// Tells that a thread of a pool begins.
pub(crate) fn thread_begins(_worker: usize) {
    #[cfg(feature = "tracing")]
    tracing::debug!(target: "pool_std", worker = _worker, "a thread of a pool begins");
}

/// Tells that a thread of a pool ends.
pub(crate) fn thread_ends(_worker: usize) {
    #[cfg(feature = "tracing")]
    tracing::debug!(target: "pool_std", worker = _worker, "a thread of a pool ends");
}

/// Tells that `what` has panicked, and that no caller waits for it.
pub(crate) fn panicked(_what: &'static str, _panic: &(dyn Any + Send)) {
    #[cfg(feature = "tracing")]
    {
        let text = _panic.downcast_ref::<&str>().copied();
        let message = text.or_else(|| _panic.downcast_ref::<String>().map(String::as_str));
        let message = message.unwrap_or("not a text");
        tracing::error!(target: "pool_std", what = _what, message);
    }
}

/// Tells that all workers of a pool wait for each other.
pub(crate) fn deadlock(_report: &DeadlockReport) {
    #[cfg(feature = "tracing")]
    tracing::warn!(target: "pool_std", report = %_report, "the workers of a pool are in a deadlock");
}
