//! The end of a pool, which is dropped or shut down, and waiting until it has nothing to do.

use std::{mem, time::Duration};

use super::{
    ThreadPool,
    current::keeps_own_pool,
    error::{ShutdownError, WaitIdleError},
    threads,
};
use crate::{
    fork,
    limit::Limit,
    platform::{Registry, WorkerThread},
    progress::run_deferred,
    worker::{adopted, current_worker_of, frames},
};

impl ThreadPool {
    /// Finishes all spawned jobs, and waits until the workers' threads have exited.
    ///
    /// Takes the pool by value, so that nothing uses it afterwards. To end a pool that is shared in
    /// an `Arc`, call [`shutdown_timeout`](Self::shutdown_timeout) with [`Duration::MAX`].
    ///
    /// A thread that is a worker by
    /// [`use_current_thread`](crate::ThreadPoolBuilder::use_current_thread) runs jobs meanwhile,
    /// and so does a worker of another pool.
    ///
    /// # Errors
    /// - [`ShutdownError::FromWorker`] on one of the pool's own threads, including in the closure
    ///   of [`block_in_place`](crate::block_in_place()), and on an adopted thread within a job or a
    ///   scope of the pool, because the thread would wait for itself. The pool still ends when its
    ///   work is done.
    /// - [`ShutdownError::Forked`] in a child of the process that built the pool: the child has
    ///   none of the pool's threads.
    ///
    /// # Examples
    /// ```
    /// use std::sync::{
    ///     Arc,
    ///     atomic::{AtomicUsize, Ordering},
    /// };
    ///
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let jobs_run = Arc::new(AtomicUsize::new(0));
    /// for _ in 0..10 {
    ///     let jobs_run = jobs_run.clone();
    ///     pool.spawn(move || _ = jobs_run.fetch_add(1, Ordering::Relaxed));
    /// }
    /// pool.shutdown()?;
    /// assert_eq!(jobs_run.load(Ordering::Relaxed), 10);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn shutdown(self) -> Result<(), ShutdownError> {
        check_here(&self.registry)?;
        let registry = &*self.registry;
        registry.data().idle.disown(registry);
        take_part_in_the_end(registry)
    }

    /// Ends the pool as [`shutdown`](Self::shutdown) does, and waits no longer than `timeout`.
    /// Whatever it returns, no job is lost: the pool finishes all spawned jobs before it ends.
    ///
    /// The pool can be shared. Several threads may call this, concurrently or one after the other,
    /// and each learns whether the pool has ended within its timeout. A call with a timeout of zero
    /// starts the shutdown and does not wait.
    ///
    /// Until the pool has ended, it still accepts jobs from every thread, which delay the end.
    /// After that, methods that run or spawn anything panic, because no worker is left; those that
    /// return a [`JoinHandle`](crate::JoinHandle) abort the job instead. On a thread that the pool
    /// has adopted, [`install`](Self::install), [`call`](Self::call) and
    /// [`join`](Self::join) run their closures there, and [`scope`](Self::scope) runs in the global
    /// pool.
    ///
    /// A worker of another pool, or a thread that is a worker by
    /// [`use_current_thread`](crate::ThreadPoolBuilder::use_current_thread), runs jobs meanwhile.
    /// So the call may return late, when the current job has finished.
    ///
    /// Last, each thread of the pool runs the destructors of its thread-locals. If one of them
    /// blocks, the pool has not ended. On Linux with glibc or musl, and on Windows, this method
    /// still returns in time; elsewhere it waits for them.
    ///
    /// # Errors
    /// - [`ShutdownError::TimedOut`] if the pool has not ended in time.
    /// - [`ShutdownError::FromWorker`] as in [`shutdown`](Self::shutdown), and in the body of an
    ///   [`in_place_scope`](Self::in_place_scope) of the pool, or in a job that runs while this
    ///   thread waits for one.
    /// - [`ShutdownError::Forked`] as in [`shutdown`](Self::shutdown).
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    ///
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// pool.spawn(|| println!("this is printed before the pool ends"));
    /// if let Err(error) = pool.shutdown_timeout(Duration::from_secs(10)) {
    ///     eprintln!("{error}");
    /// }
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    pub fn shutdown_timeout(&self, timeout: Duration) -> Result<(), ShutdownError> {
        check_here(&self.registry)?;
        let limit = Limit::new(timeout);
        let registry = &*self.registry;
        registry.data().idle.disown(registry);
        if waits_for_itself(registry) {
            return Err(ShutdownError::FromWorker);
        }
        if let Some(worker) = current_worker_of(registry) {
            // It is in no job, so there is none that the others could disturb.
            let is_in_time = limit.poll(Some(worker), WorkerThread::yield_now, || {
                !registry.has_references()
            });
            // It takes part in the end, as the other workers do.
            while is_in_time && worker.yield_now() {}
            // One of these jobs may have forked the process, and end in the child.
            check_here(registry)?;
            if !is_in_time {
                return Err(ShutdownError::TimedOut);
            }
        }
        let parts = registry.data();
        let has_ended = parts
            .threads
            .wait_until_stopped_for(limit, &parts.handlers.runnable);
        // A job that this thread has run as a worker of another pool may have forked, too.
        check_here(registry)?;
        if !has_ended {
            return Err(ShutdownError::TimedOut);
        }
        run_deferred(registry);
        Ok(())
    }

    /// Ends the pool as [`shutdown_timeout`](Self::shutdown_timeout) does, and discards the spawned
    /// jobs that have not started. Returns how many were discarded.
    ///
    /// A discarded job is dropped instead of run, by the worker that takes it from its queue or
    /// joins its [handle](crate::spawn_handle). The handle reports that the job was aborted. Jobs
    /// that are spawned during the shutdown are discarded, too. These continue:
    /// - jobs that have started, and the jobs of their joins and scopes, because a caller waits for
    ///   them. Let long jobs check a [`CancelToken`](crate::CancelToken);
    /// - calls from outside, such as [`install`](Self::install), for the same reason;
    /// - futures that wait. They are dropped when they are woken.
    ///
    /// So a job that has started must not wait for a job that may be discarded, except by its
    /// handle.
    ///
    /// # Errors
    /// As [`shutdown_timeout`](Self::shutdown_timeout). Even then, the pool discards its jobs and
    /// ends, unless the process is a child. A later call returns how many were discarded.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    ///
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(1).build()?;
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// let (go, wait) = std::sync::mpsc::channel::<()>();
    /// pool.spawn(move || {
    ///     sender.send("begun").unwrap();
    ///     wait.recv().unwrap();
    /// });
    /// receiver.recv()?;
    /// for _ in 0..10 {
    ///     pool.spawn(|| unreachable!("the only worker is in the first job"));
    /// }
    /// assert!(pool.shutdown_now(Duration::ZERO).is_err());
    /// go.send(())?;
    /// assert_eq!(pool.shutdown_now(Duration::MAX), Ok(10));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "abort")]
    #[doc(alias = "cancel")]
    pub fn shutdown_now(&self, timeout: Duration) -> Result<usize, ShutdownError> {
        let discard = &self.registry.data().discard;
        discard.begin();
        self.shutdown_timeout(timeout)?;
        Ok(discard.count())
    }

    /// Waits until the pool has nothing to do: no job is queued or running, and no call from
    /// outside is in progress. The pool can still be used afterwards.
    ///
    /// The pool is idle at some moment during the call. This includes the jobs that other jobs
    /// spawn, through any number of generations. Jobs that other threads spawn during the call may
    /// delay its return, and may be present when it returns.
    ///
    /// These count:
    /// - jobs that were spawned, by [`spawn`](Self::spawn) or in any other way, and spawned futures
    ///   that have not completed;
    /// - calls to [`install`](Self::install), [`call`](Self::call), [`join`](Self::join),
    ///   [`scope`](Self::scope) and [`broadcast`](Self::broadcast);
    /// - an [`in_place_scope`](Self::in_place_scope) and its jobs;
    /// - a job in [`block_in_place`](crate::block_in_place()), and a job that is [marked as
    ///   blocked](crate::mark_blocked);
    /// - a job that waits for an operation on a file.
    ///
    /// These do not:
    /// - threads that a panic handler or a job has started;
    /// - what a thread that is a worker by
    ///   [`use_current_thread`](crate::ThreadPoolBuilder::use_current_thread) runs by itself,
    ///   outside of any job;
    /// - start and exit handlers;
    /// - [deferred](crate::progress::Progress::defer) closures;
    /// - an operation that no job waits for;
    /// - the free functions [`join`](crate::join()), [`isolate`](crate::isolate) and the like,
    ///   called by a thread outside, while that thread is the worker.
    ///
    /// Any number of threads may call this at the same time. A thread that is a worker by
    /// `use_current_thread`, or of another pool, runs jobs meanwhile.
    ///
    /// This adds no cost to a [`join`](crate::join()). A spawned job has a reference to its pool
    /// anyway, and the end of the last job is tracked only while threads wait.
    ///
    /// # Errors
    /// - [`WaitIdleError::FromWorker`] on one of the pool's own threads, including in a closure of
    ///   [`call`](Self::call) or [`block_in_place`](crate::block_in_place()), on an adopted thread
    ///   within a job or a scope of the pool, and in the body of an
    ///   [`in_place_scope`](Self::in_place_scope) of the pool, or in a job that runs while this
    ///   thread waits for one: the thread would wait for itself.
    /// - [`WaitIdleError::Forked`] in a child of the process that built the pool: the child has
    ///   none of the pool's threads.
    ///
    /// # Examples
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    ///
    /// static JOBS_RUN: AtomicUsize = AtomicUsize::new(0);
    ///
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// for _ in 0..10 {
    ///     pool.spawn(|| pool_std::spawn(|| _ = JOBS_RUN.fetch_add(1, Ordering::Relaxed)));
    /// }
    /// pool.wait_idle()?;
    /// assert_eq!(JOBS_RUN.load(Ordering::Relaxed), 10);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "quiescence")]
    pub fn wait_idle(&self) -> Result<(), WaitIdleError> {
        self.check_wait()?;
        self.registry.data().idle.wait(&self.registry);
        Ok(())
    }

    /// Waits as [`wait_idle`](Self::wait_idle) does, but no longer than the timeout.
    ///
    /// A worker of another pool, or an adopted thread, runs jobs meanwhile. It returns late if the
    /// last of them takes longer. If there are none, it naps for up to a millisecond at a time,
    /// since its pool cannot wake it after a given time.
    ///
    /// For some nanoseconds after another wait has ended, an idle pool still counts as busy. So a
    /// timeout of zero may be too short.
    ///
    /// # Errors
    /// [`WaitIdleError::TimedOut`] if the pool was not idle in time, and the other errors as
    /// `wait_idle`. Both can be called again.
    ///
    /// # Examples
    /// ```
    /// use pool_std::WaitIdleError;
    /// use std::time::Duration;
    ///
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// pool.spawn(|| println!("this takes a moment"));
    /// let second = Duration::from_secs(1);
    /// while pool.wait_idle_timeout(second) == Err(WaitIdleError::TimedOut) {
    ///     eprintln!("still at work: {:?}", pool.metrics());
    /// }
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    pub fn wait_idle_timeout(&self, timeout: Duration) -> Result<(), WaitIdleError> {
        self.check_wait()?;
        let limit = Limit::new(timeout);
        let is_idle = self.registry.data().idle.wait_for(&self.registry, limit);
        if !fork::is_own_process(&self.registry) {
            // A job that this thread has run has forked, and this is the child.
            return Err(WaitIdleError::Forked);
        }
        is_idle.then_some(()).ok_or(WaitIdleError::TimedOut)
    }

    /// Checks that this thread may wait until the pool has nothing to do.
    fn check_wait(&self) -> Result<(), WaitIdleError> {
        if !fork::is_own_process(&self.registry) {
            return Err(WaitIdleError::Forked);
        }
        if waits_for_itself(&self.registry) {
            return Err(WaitIdleError::FromWorker);
        }
        Ok(())
    }
}

/// Checks that the pool has threads in this process.
///
/// # Errors
/// [`ShutdownError::Forked`] in a child of the process that built the pool.
pub(super) fn check_here(registry: &Registry) -> Result<(), ShutdownError> {
    let is_here = fork::is_own_process(registry);
    is_here.then_some(()).ok_or(ShutdownError::Forked)
}

/// Waits until a pool that its owner has given up has done its work, and its threads have ended. An
/// adopted thread runs jobs until then.
///
/// # Errors
/// [`ShutdownError::FromWorker`] if this thread would wait for itself, and the error of
/// [`wait_until_stopped`].
pub(super) fn take_part_in_the_end(registry: &Registry) -> Result<(), ShutdownError> {
    if waits_for_itself(registry) {
        return Err(ShutdownError::FromWorker);
    }
    if let Some(worker) = current_worker_of(registry) {
        // SAFETY: 1. frames below may have left handles to the worker. But `Worker::join` checks
        // that the thread is the worker, which it is not while a parker of a driver runs. The other
        // parkers and the protocols of this crate use none.
        unsafe { worker.run_until_terminated() };
    }
    wait_until_stopped(registry)
}

/// Waits until the threads of a pool have ended.
///
/// # Errors
/// [`ShutdownError::Forked`] if a job that this thread has run meanwhile, as a worker, has forked,
/// and this is the child.
pub(super) fn wait_until_stopped(registry: &Registry) -> Result<(), ShutdownError> {
    let parts = registry.data();
    parts.threads.wait_until_stopped(&parts.handlers.runnable);
    check_here(registry)?;
    run_deferred(registry);
    Ok(())
}

/// Whether this thread would wait for itself if it waited for the pool.
pub(super) fn waits_for_itself(registry: &Registry) -> bool {
    // A deadlock handler runs under a lock that the workers need.
    let is_own = threads::belongs_to(registry);
    if is_own || frames::use_pool(registry) || registry.data().reporting.is_here() {
        return true;
    }
    current_worker_of(registry).is_some_and(|worker| {
        worker.is_running_job() || keeps_own_pool() || !adopted::is_adopted_by(registry)
    })
}

impl Drop for ThreadPool {
    fn drop(&mut self) {
        if !fork::is_own_process(&self.registry) {
            // A lock that the end takes may be held by a thread of the parent.
            mem::forget(self.registry.clone());
            return;
        }
        let parts = self.registry.data();
        parts.idle.disown(&self.registry);
        parts.threads.remove_waiter();
    }
}
