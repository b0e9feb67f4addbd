//! What a worker did, event by event: a ring that the worker writes and any thread reads.
//!
//! A [`Tracer`] is an [`Observer`](crate::Observer) that keeps the last events in a ring of fixed
//! size. It takes no lock and allocates nothing. The worker alone writes; a thread that reads loses
//! what the worker overwrites meanwhile, and knows how much.
//!
//! | file | what it does |
//! | --- | --- |
//! | `trace/tracer.rs` | the observer, and the iterator over what it has kept |
//! | `trace/record.rs` | which events are kept, and how one becomes three words and back |
//! | `trace/ring.rs` | the ring of records, and why a reader sees whole ones |
//! | `trace/wake_note.rs` | who has woken a worker, which the worker's parker keeps |
//!
//! Searches and failed attempts to steal are not kept. They are counted in the metrics, and would
//! push everything else out.

mod record;
mod ring;
mod tracer;
mod wake_note;

#[cfg(test)]
mod tests;

pub use ring::TraceSlot;
pub use tracer::{TraceClock, TraceEvent, TraceEvents, Tracer};
pub use wake_note::WakeNote;

pub use crate::worker::index_of;
