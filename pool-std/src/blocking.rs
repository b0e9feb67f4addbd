//! Blocked sections: how workers mark that they wait for an event that the pool does not know
//! about, and what the pool does with the marks.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `blocking` (this one) | the functions that begin and end sections |
//! | `blocked` | the ticket of a section |
//! | `error` | the error of a mark |
//! | `sections` | labels and times, beside the accounting of `sleep-core` |
//! | `deadlock` | from the accounting's report to the user's handler |
//! | `report`, `state` | what a handler receives, and what `ThreadPool::state` returns |
//! | `handlers` | acquire and release handlers, and which handler a thread is in |
//! | `mutex` | the lock around the accounting |
//! | `table` | tables as text |

pub(crate) mod blocked;
pub(crate) mod deadlock;
pub(crate) mod error;
pub(crate) mod handlers;
pub(crate) mod mutex;
pub(crate) mod report;
pub(crate) mod sections;
pub(crate) mod state;
mod table;

use std::{borrow::Cow, cell::Cell, sync::Arc};

use crate::{
    blocking::{
        blocked::{Blocked, Mark},
        error::MarkError,
    },
    fork,
    platform::{Registry, WorkerThread},
};

/// Marks the calling worker as blocked: it is about to wait for another job of its pool, for
/// example for a message, the release of a lock, or a result that another worker computes.
///
/// The thread that ends the wait must call [`Blocked::mark_unblocked`] before it does so. The
/// worker then counts as active from that moment on, even before the system lets it run. So mark
/// the worker under the lock that guards the event, and store the ticket there. If a closure
/// encloses the wait, [`blocking`](crate::blocking()) is simpler. Neither starts a thread: see
/// [which way to wait](crate::guide::waiting).
///
/// In a pool with a deadlock handler, do not mark a wait for something outside the pool, such as
/// input: if all other workers are idle, it is reported. Do not mark a wait in
/// [`join`](crate::join()), a scope or [`install`](crate::ThreadPool::install) either, because the
/// worker runs other jobs there. Until the section ends,
/// [`block_in_place`](crate::block_in_place()) does not lend the worker's place.
///
/// If this mark completes a deadlock, the [deadlock
/// handler](crate::ThreadPoolBuilder::deadlock_handler) is called here, before the call returns.
/// [`ThreadPool::state`](crate::ThreadPool::state) shows the label. The call takes a lock of the
/// pool, and is intended for waits that put the thread to sleep.
///
/// # Errors
/// - [`MarkError::NotAWorker`]: the calling thread is not a worker.
/// - [`MarkError::AlreadyBlocked`]: the worker is already blocked, and remains so under its first
///   label.
/// - [`MarkError::InHandler`]: a handler of a pool called this.
///
/// # Examples
/// ```
/// use std::sync::{Arc, Condvar, Mutex};
///
/// use pool_std::{Blocked, ThreadPoolBuilder, mark_all_unblocked, mark_blocked};
///
/// /// A value that is computed once, and the workers that wait for it.
/// #[derive(Default)]
/// struct Promise {
///     state: Mutex<(Option<u32>, Vec<Blocked>)>,
///     is_set: Condvar,
/// }
///
/// impl Promise {
///     fn get(&self) -> u32 {
///         let mut state = self.state.lock().unwrap();
///         if state.0.is_none() {
///             state.1.extend(mark_blocked("a promise"));
///         }
///         let state = self.is_set.wait_while(state, |state| state.0.is_none());
///         state.unwrap().0.unwrap()
///     }
///
///     fn set(&self, value: u32) {
///         let mut state = self.state.lock().unwrap();
///         // First the marks, while the others still wait.
///         mark_all_unblocked(state.1.drain(..)).unwrap();
///         state.0 = Some(value);
///         self.is_set.notify_all();
///     }
/// }
///
/// let promise = Arc::new(Promise::default());
/// let pool = ThreadPoolBuilder::new().num_threads(2).build()?;
/// let value = pool.install(|| {
///     let setter = promise.clone();
///     pool_std::spawn(move || setter.set(7));
///     promise.get()
/// });
/// assert_eq!(value, 7);
/// # Ok::<(), pool_std::BuildError>(())
/// ```
pub fn mark_blocked(label: impl Into<Cow<'static, str>>) -> Result<Blocked, MarkError> {
    mark(label.into())
}

fn mark(label: Cow<'static, str>) -> Result<Blocked, MarkError> {
    if handlers::is_in_handler() {
        return Err(MarkError::InHandler);
    }
    // SAFETY: 1. the reference is not used after this call.
    let worker = unsafe { WorkerThread::current() }.ok_or(MarkError::NotAWorker)?;
    Mark::new(worker, label).map(Blocked::from)
}

/// Unmarks several blocked workers. No report can come between the first and the last worker of one
/// pool, so threads that are resumed together are counted together.
///
/// # Errors
/// Returns [`MarkError::NotBlocked`] if a ticket names a section that has ended; all other tickets
/// have taken effect. Returns [`MarkError::InHandler`] if a handler of a pool calls this; in that
/// case, nothing has changed.
///
/// # Examples
/// ```
/// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
/// pool.install(|| {
///     let blocked = pool_std::mark_blocked("an answer").expect("on a worker");
///     // Another thread would do so, before it sends the answers for which several jobs wait.
///     pool_std::mark_all_unblocked([blocked])
/// })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn mark_all_unblocked(tickets: impl IntoIterator<Item = Blocked>) -> Result<(), MarkError> {
    // The caller's iterator must not run under a lock of the pool.
    let mut tickets: Vec<_> = tickets.into_iter().collect();
    if handlers::is_in_handler() {
        return Err(MarkError::InHandler);
    }
    let num_tickets = tickets.len();
    let mut marks: Vec<Mark> = tickets.drain(..).filter_map(Blocked::into_mark).collect();
    let mut all_were_blocked = marks.len() == num_tickets;
    marks.sort_by_key(Mark::pool);
    for of_one_pool in marks.chunk_by(|a, b| a.pool() == b.pool()) {
        all_were_blocked &= Mark::end_all(of_one_pool);
    }
    if all_were_blocked {
        Ok(())
    } else {
        Err(MarkError::NotBlocked)
    }
}

/// Runs a closure in which the calling worker waits, and marks the worker as blocked meanwhile, as
/// [`mark_blocked`] does. Neither starts a thread: see [which way to wait](crate::guide::waiting).
///
/// The closure receives the ticket of the section, to pass it to the thread that will end the wait.
/// That thread calls [`Blocked::mark_unblocked`] before it does so. Otherwise, the section ends
/// when the closure returns or panics. That is enough for
/// [`ThreadPool::state`](crate::ThreadPool::state) and for the acquire and release handlers. With a
/// deadlock handler, it is too late: all other workers may fall asleep before this one runs again,
/// which is reported as a deadlock.
///
/// For waits that end without the pool, such as input, [`block_in_place`](crate::block_in_place())
/// lets a spare thread run the pool's jobs meanwhile, except inside a blocked section.
///
/// The worker calls the [release handler](crate::ThreadPoolBuilder::release_thread_handler) after
/// it is marked, and the [acquire handler](crate::ThreadPoolBuilder::acquire_thread_handler) after
/// it is unmarked.
///
/// On a thread that is not a worker, and in a handler of a pool, the closure runs without a mark,
/// and its ticket names no section. Inside another section, the closure is part of that section and
/// receives its ticket.
///
/// The closure should not use the worker's own pool, because the jobs it runs there would also
/// count as blocked.
///
/// # Panics
/// Resumes the closure's panic.
///
/// # Examples
/// ```
/// use std::sync::mpsc;
///
/// let pool = pool_std::ThreadPoolBuilder::new().num_threads(1).build()?;
/// let (sender, receiver) = mpsc::channel();
/// std::thread::scope(|threads| {
///     let (tickets, ticket) = mpsc::channel();
///     threads.spawn(move || {
///         let blocked: pool_std::Blocked = ticket.recv().unwrap();
///         // First the mark, then the message.
///         blocked.mark_unblocked().unwrap();
///         sender.send("hello").unwrap();
///     });
///     let message = pool.install(move || {
///         pool_std::blocking("a message", |blocked| {
///             tickets.send(blocked.clone()).unwrap();
///             receiver.recv()
///         })
///     });
///     assert_eq!(message, Ok("hello"));
/// });
/// # Ok::<(), pool_std::BuildError>(())
/// ```
pub fn blocking<R>(label: impl Into<Cow<'static, str>>, closure: impl FnOnce(&Blocked) -> R) -> R {
    match mark(label.into()) {
        Ok(blocked) => {
            let section = Section::begin(&blocked);
            let result = closure(&blocked);
            drop(section);
            result
        }
        Err(MarkError::AlreadyBlocked) => closure(&blocked::of_this_worker()),
        Err(_) => closure(&Blocked::none()),
    }
}

thread_local! {
    /// The number of sections of this thread that have begun and not ended. A closure may begin
    /// another section after the mark of its own was removed. The release and acquire handlers are
    /// called only for the outermost section.
    static SECTIONS: Cell<usize> = const { Cell::new(0) };
}

/// A section that ends when this is dropped, also by a panic.
struct Section<'b> {
    mark: &'b Mark,
    registry: Arc<Registry>,
}

impl<'b> Section<'b> {
    /// Takes over a section that has just begun. Returns None if the ticket names none.
    fn begin(blocked: &'b Blocked) -> Option<Self> {
        let mark = blocked.mark()?;
        let registry = mark.registry()?;
        // The section is ours from here on.
        let section = Self { mark, registry };
        if SECTIONS.replace(SECTIONS.get() + 1) == 0 {
            section.registry.data().handlers.runnable.release();
        }
        Some(section)
    }
}

impl Drop for Section<'_> {
    fn drop(&mut self) {
        SECTIONS.set(SECTIONS.get() - 1);
        if !fork::is_own_process(&self.registry) {
            // A thread of the parent may have had the lock of the accounting, and the token is the
            // parent's.
            return;
        }
        // First the mark: while the handler waits for a token, this worker counts as active.
        self.mark.end_own(&self.registry);
        // SAFETY: 1. the reference is not used after this call.
        if let Some(worker) = unsafe { WorkerThread::current() } {
            worker.note_unblocked();
        }
        if SECTIONS.get() == 0 {
            self.registry.data().handlers.runnable.acquire();
        }
    }
}
