//! What workers count, and what is known of a pool at one moment.
//!
//! Each worker has an [`Observer`], which it tells each [`Event`]. The platform chooses its type:
//! [`WorkerCounters`] counts, [`NoMetrics`] does nothing and is compiled away. Nothing is told, and
//! nothing is counted, for a join whose second closure no thief takes.
//!
//! | what is counted | where the worker tells it |
//! | --- | --- |
//! | jobs run | `WorkerThread::run_as_job`, for each job that a queue gave |
//! | jobs posted | `WorkerThread::post`, `post_many` |
//! | deque full | `WorkerThread::run_for_lack_of_room`, and `join_in_order` for a join |
//! | searches | `WorkerThread::find_work`, `find_work_at` |
//! | steals tried, succeeded, retried; revocations | `WorkerThread::steal_from` |
//! | sleeps, wake-ups, fruitless wake-ups; idle and asleep | `worker/idle.rs` |
//! | active again | `Idle::end` |
//! | absent and active | `WorkerThread::enter`, `WorkerThread::leave` |
//! | a guest has arrived, has left | `Guest::begin`, the drop of `Guest` |
//! | blocked, unblocked | `WorkerThread::mark_blocked`, `note_unblocked` |
//!
//! A worker counts as asleep from the moment when its last check of all sources finds nothing: the
//! sleep protocol makes that check right before the worker parks.
//!
//! A new counter touches three files:
//! 1. `metrics/counters.rs`: a line in the list, and what adds to it;
//! 2. `metrics/event.rs`: an event, unless one of those that exist tells it;
//! 3. the file where it happens, which tells the observer.
//!
//! Its test goes into `metrics/tests/counts.rs`. Snapshots, sums and the table take it from the
//! list. The facade of pool-std, and the checker of its traces, which counts the events again,
//! have lists of their own.

mod counter;
mod counters;
mod event;
mod observer;
mod pool;
mod stopwatch;
mod table;
#[cfg(test)]
mod tests;

#[cfg(any(test, feature = "trace"))]
pub(crate) use counter::Counter;
pub use counters::{Counts, WorkerCounters, WorkerSnapshot};
pub use event::{Event, SearchEnd, WokenBy};
pub use observer::{Clock, NoMetrics, Observer};
pub use pool::{PoolMetrics, WorkerMetrics};
pub use stopwatch::{WorkerState, WorkerTimes};
