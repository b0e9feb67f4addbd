//! The settings related to blocking.

use super::ThreadPoolBuilder;
use crate::blocking::report::DeadlockReport;

impl<S> ThreadPoolBuilder<S> {
    /// Sets a closure that receives deadlock reports.
    ///
    /// A pool is deadlocked if every worker is in a blocked section or asleep, at least one is
    /// blocked, and no job is queued that an unblocked worker may run.
    ///
    /// Workers report that they are blocked with [`blocking`](crate::blocking()) or
    /// [`mark_blocked`](crate::mark_blocked()). The pool checks for a deadlock whenever a worker
    /// blocks, falls asleep or leaves. If each wait for another job is marked, and the thread that
    /// ends the wait unmarks it first, then no report is false and none is missed. The closure is
    /// called once, and again only after a worker has been unmarked, so not when further workers
    /// block. If no thread unmarks the blocked workers, they stay blocked. The pool still accepts
    /// jobs, which sleeping workers run.
    ///
    /// A worker counts as active in [`block_in_place`](crate::block_in_place()), in
    /// [`install`](crate::ThreadPool::install) of another pool, and while it waits for a future,
    /// for a [driver](crate::driver::wait)'s report, or for thread progress. An
    /// [adopted](Self::use_current_thread) thread counts as active outside the waits of its pool.
    ///
    /// The closure runs on a thread of the pool, with the pool's accounting locked. It should only
    /// pass the report to a thread that is not a worker of the pool, which then breaks the
    /// deadlock. It must not wait for the pool, broadcast to it, or end it by dropping the last
    /// [`ThreadPool`](crate::ThreadPool): if it does, the process aborts with a message. It must
    /// not resize the pool either; a [call that would](crate::ThreadPool::set_active_workers)
    /// fails. Marking or unmarking a worker fails with
    /// [`MarkError::InHandler`](crate::MarkError::InHandler). A panic in the closure aborts the
    /// process with a message.
    ///
    /// Do not let the handlers of two pools act on each other's pool: if both broadcast to the
    /// other pool, resize it or end it, each may wait for the lock under which the other one runs.
    /// This is not detected. Instead, let the handler [spawn](crate::ThreadPool::spawn) a job in
    /// the other pool that does so, because spawning takes none of these locks.
    ///
    /// Without a handler, falling asleep costs nothing extra.
    /// [`ThreadPool::state`](crate::ThreadPool::state) returns what every worker is doing, with or
    /// without a handler.
    ///
    /// # Examples
    /// See also [`DeadlockReport`].
    ///
    /// ```
    /// use std::{sync::mpsc, thread};
    ///
    /// let (send, receive) = mpsc::channel();
    /// let pool = pool_std::ThreadPoolBuilder::new()
    ///     .num_threads(1)
    ///     // Most handlers print the report, and end the process. Here another thread gives the
    ///     // job what it waits for.
    ///     .deadlock_handler(move |report| {
    ///         let (send, report) = (send.clone(), report.to_string());
    ///         thread::spawn(move || send.send(report));
    ///     })
    ///     .build()?;
    /// // The section ends with the closure.
    /// let wait = move || pool_std::blocking("an answer", |_| receive.recv());
    /// let answer = pool.install(wait)?;
    /// assert!(answer.contains("an answer"));
    /// assert_eq!(pool.state().blocked().count(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn deadlock_handler<F>(mut self, handler: F) -> Self
    where
        F: Fn(&DeadlockReport) + Send + Sync + 'static,
    {
        self.settings.deadlock_handler = Some(Box::new(handler));
        self
    }

    /// Sets a closure that each worker calls when it becomes runnable, for example to acquire a
    /// jobserver token.
    ///
    /// A worker calls it when it starts, before the start handler; when it is woken; when it is
    /// [revived](crate::ThreadPool::set_active_workers); and at the end of a [blocked
    /// section](crate::blocking()), when the worker no longer counts as blocked. The closure may
    /// wait for as long as it likes, because the worker counts as active meanwhile, but not for
    /// another worker of the pool. In the closure, the thread does not count as a worker. An
    /// [adopted](Self::use_current_thread) thread was runnable before, so it does not call the
    /// closure when it is adopted.
    ///
    /// A worker that begins to wait in a `join` or a scope searches for other jobs first, and stays
    /// runnable while it does.
    ///
    /// A panic in the closure aborts the process with a message. A mark there fails with
    /// [`MarkError::InHandler`](crate::MarkError::InHandler).
    ///
    /// # Examples
    /// ```
    /// use std::sync::{Arc, atomic::{AtomicUsize, Ordering}};
    ///
    /// let runnable = Arc::new(AtomicUsize::new(0));
    /// let (acquired, released) = (runnable.clone(), runnable.clone());
    /// let pool = pool_std::ThreadPoolBuilder::new()
    ///     .num_threads(2)
    ///     .acquire_thread_handler(move || _ = acquired.fetch_add(1, Ordering::SeqCst))
    ///     .release_thread_handler(move || _ = released.fetch_sub(1, Ordering::SeqCst))
    ///     .build()?;
    /// pool.install(|| assert!(runnable.load(Ordering::SeqCst) >= 1));
    /// pool.shutdown()?;
    /// assert_eq!(runnable.load(Ordering::SeqCst), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn acquire_thread_handler<F>(mut self, handler: F) -> Self
    where
        F: Fn() + Send + Sync + 'static,
    {
        self.settings.handlers.runnable.acquire = Some(Box::new(handler));
        self
    }

    /// Sets a closure that each worker calls when it stops being runnable, for example to release a
    /// jobserver token.
    ///
    /// A worker calls it just before it falls asleep, when no lock of the pool is held; at the
    /// beginning of a [blocked section](crate::blocking()), when the worker counts as blocked; and
    /// when it exits, after the exit handler, or [parks](crate::ThreadPool::set_active_workers).
    /// [`mark_blocked`](crate::mark_blocked()) itself does
    /// not call it. The closure should not wait. In the closure, the thread does not count as a
    /// worker.
    ///
    /// A panic in the closure aborts the process with a message. A mark there fails with
    /// [`MarkError::InHandler`](crate::MarkError::InHandler).
    ///
    /// # Examples
    /// See [`acquire_thread_handler`](Self::acquire_thread_handler).
    #[must_use]
    pub fn release_thread_handler<F>(mut self, handler: F) -> Self
    where
        F: Fn() + Send + Sync + 'static,
    {
        self.settings.handlers.runnable.release = Some(Box::new(handler));
        self
    }

    /// Makes threads outside every pool also call the release handler before they wait for this
    /// pool, and the acquire handler afterwards.
    ///
    /// This is for programs in which each thread holds its own token, as in rustc, where the thread
    /// that calls [`install`](crate::ThreadPool::install) passes its token to the worker that runs
    /// the closure. By default, such threads call no handler. The setting applies to all calls that
    /// a worker runs for a waiting thread, to [`wait_idle`](crate::ThreadPool::wait_idle), and to
    /// waits for the end of a pool, as in [`shutdown`](crate::ThreadPool::shutdown) and at the end
    /// of [`build_scoped`](ThreadPoolBuilder::build_scoped), but not to waits at the end of an
    /// [`in_place_scope`](crate::in_place_scope()), or for a broadcast, a
    /// [handle](crate::JoinHandle) or a future.
    ///
    /// # Examples
    /// ```
    /// use std::sync::{Arc, atomic::{AtomicUsize, Ordering}};
    ///
    /// // This thread holds a token.
    /// let tokens = Arc::new(AtomicUsize::new(1));
    /// let (acquired, released) = (tokens.clone(), tokens.clone());
    /// let pool = pool_std::ThreadPoolBuilder::new()
    ///     .num_threads(1)
    ///     .acquire_thread_handler(move || _ = acquired.fetch_add(1, Ordering::SeqCst))
    ///     .release_thread_handler(move || _ = released.fetch_sub(1, Ordering::SeqCst))
    ///     .thread_handlers_for_callers()
    ///     .build()?;
    /// pool.install(|| ());
    /// pool.shutdown()?;
    /// assert_eq!(tokens.load(Ordering::SeqCst), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn thread_handlers_for_callers(mut self) -> Self {
        self.settings.handlers.runnable.for_callers = true;
        self
    }
}
