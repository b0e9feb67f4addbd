//! Cores that wait for something outside of the pool, and a handler that is called when no core can
//! continue.
//!
//! A job may have to wait for an event that the pool does not know about: the interrupt of a
//! device, or a flag that another job sets. Its core marks itself as **blocked** meanwhile. The
//! core, job or interrupt handler that causes the event marks it as unblocked before it lets the
//! core continue. When every worker that is there is blocked or asleep, at least one is blocked,
//! and no job waits that a sleeping worker may run, then the pool calls its handler: once, until a
//! worker is unblocked.
//!
//! Needs the feature `deadlock`. A pool detects deadlocks if its type is [`DetectingCores`]. A pool
//! of another type contains nothing of the accounting, even with the feature.
//!
//! # What a report means
//! The pool cannot know whether a device will interrupt. If all cores wait and one of them waits
//! for a device, there is still a report: nothing continues unless the device answers. So the
//! handler decides. It may return, because it knows that a request to the device is pending. It may
//! start a timer that bounds the wait, or reset the device. It may print the report and stop the
//! machine. There is no report while any core works, so a core that waits for a device beside
//! others that have work is not reported.
//!
//! - Workers that are absent (not arrived, released, or between two calls of
//!   [`run_with`](crate::SpinPool::run_with)) do not count. The pool does not know what they do
//!   next.
//! - A core that installs a closure and is not a worker does not count. The closure does.
//! - A core that sleeps in [`run_worker_until`](crate::SpinPool::run_worker_until) counts as
//!   asleep, although a handler may wake it by [`wake_worker`](crate::SpinPool::wake_worker).
//! - With the protocol [`Busy`](crate::Busy) no worker ever sleeps. So there is a report only when
//!   every worker is blocked.
//!
//! # The handler
//! The pool calls the handler on the core that completed the deadlock, with interrupts masked and
//! the lock of the accounting held. The handler may spawn, wake workers, start a timer and print.
//! It must not mark, unmark or [complete](Completion::complete) anything, and must not wait for a
//! core or an interrupt that does. To unblock a worker, it passes that worker's [`Ticket`] on to a
//! task or to a timer's interrupt, which unblocks the worker.
//!
//! # How a blocked core waits
//! In any way; the pool does not halt it. [`Worker::wait_for`](crate::Worker::wait_for) halts in
//! the machine's parker until a [`Completion`] comes, and marks the core meanwhile. That is the
//! simplest way, and the one for devices. A program's own waiting loop goes into
//! [`Worker::blocking`](crate::Worker::blocking). The loop checks for the event by a plain load and
//! executes `WFE`, or masks interrupts, checks, and executes `WFI`. (On some chips an exchange
//! makes the next `WFE` return at once, see [`Wfe`](crate::Wfe).) A blocked core runs no jobs. It
//! leaves those that it has queued to the other workers. (A worker that waits in
//! [isolation](crate::Isolation) takes them only if they descend from what it waits for.)
//!
//! # Examples
//! ```
//! use pool_spin::{
//!     SpinPool,
//!     deadlock::{Completion, DetectingCores, Report},
//!     host::{self, Host, HostLock},
//! };
//!
//! // On a board: `InterruptLock<arch::Aarch64>`, for instance, instead of `HostLock`.
//! type Chip = DetectingCores<Host, HostLock, 2, 64>;
//!
//! static POOL: SpinPool<Chip> = SpinPool::with_deadlock_handler(report_deadlock);
//! static DISK: Completion<Chip> = Completion::new(&POOL);
//!
//! fn report_deadlock(report: &Report<'_>) {
//!     println!("{report}");
//! }
//!
//! /// Called by the device's interrupt.
//! fn disk_interrupt() {
//!     DISK.complete();
//! }
//!
//! host::with_workers(&POOL, || {
//!     POOL.install(|core| {
//!         core.join(
//!             |core| core.wait_for(&DISK).unwrap(),
//!             |_| disk_interrupt(),
//!         );
//!     });
//! });
//! ```

mod completion;
mod error;
mod marks;
mod system;
#[cfg(test)]
mod tests;

pub use completion::Completion;
pub use error::WaitError;
pub use pool_core::accounting::{NotActive, NotBlocked, RawMutex, Report, State, Ticket};
pub use system::{CoreAccounting, DetectingCores, DetectsDeadlocks};
