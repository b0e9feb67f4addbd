//! How the owner of a handle waits: on a worker it runs jobs meanwhile.

use std::{ptr, task::Waker};

use pool_core::Isolation;

use super::{JoinError, ScopedJoinHandle, waiter::Waiter};
use crate::{
    driver, fork::Process, platform::WorkerThread, seeded::point_if_seeded,
    thread_pool::current::keeping_own_pool,
};

impl<T> ScopedJoinHandle<'_, T> {
    /// Sets the waiter; there must be none. Returns false if the job is done.
    pub(super) fn set_waiter(&mut self, waiter: Waiter) -> bool {
        // The waiter is boxed because few jobs are awaited before they are done, and a job should
        // fit into a block.
        //
        // SAFETY: 1. the handle is borrowed exclusively. Callers have cleared the last waiter, or
        // been given it back, or found none in a job that was not done after that.
        unsafe { self.state().set_waiter(Box::new(waiter)) }
    }

    /// Removes the waiter that a wait or a future has left. Returns false if the job is done.
    pub(super) fn clear_waiter(&mut self) -> bool {
        // SAFETY: 1. the handle is borrowed exclusively.
        unsafe { self.state().clear_waiter() }
    }

    /// Takes back the waiter that a wait or a future has left, unless the job is done.
    pub(super) fn take_back_waiter(&mut self) -> Option<Waiter> {
        // SAFETY: 1. the handle is borrowed exclusively.
        unsafe { self.state().take_back_waiter() }.map(|waiter| *waiter)
    }

    /// Whether this process has spawned the job. A child process must not wait for the job, since a
    /// thread of the parent runs it.
    pub(super) fn is_here(&self) -> bool {
        self.process == Process::current()
    }

    /// Returns the worker of this thread, if it is a worker of the job's pool.
    ///
    /// The reference must not outlive the caller's stay on the worker.
    pub(super) fn worker(&self) -> Option<&WorkerThread> {
        // SAFETY: 1. callers use it while the thread is still the worker: jobs leave it as it was.
        let worker = unsafe { WorkerThread::current() };
        worker.filter(|worker| ptr::eq(worker.registry(), self.registry))
    }

    /// Runs jobs of this worker until the job is done, and the job itself if no other worker has
    /// begun it. On a thread that is not a worker of the job's pool, does nothing.
    pub(super) fn help(&self) {
        let Some(worker) = self.worker() else { return };
        while !self.is_finished() {
            if !worker.help_local(ptr::null(), || ()) {
                self.run_on(worker, worker.isolation());
                return;
            }
        }
    }

    /// In an isolated call on a worker of the job's pool, runs the job as [`help`](Self::help)
    /// does. If the job is a future, leaves the waker, which is then woken when the future is due.
    pub(super) fn help_isolated(&self, waker: &Waker) {
        let worker = self.worker();
        if worker.is_none_or(|worker| worker.isolation() == Isolation::Anything) {
            return;
        }
        self.help();
        // One of the jobs may have forked the process, and this is the child.
        let waits = self.is_finished()
            || !self.is_here()
            || self.task().is_run_at_once()
            || self.task().notify_when_due(Waiter::Task(waker.clone()));
        if !waits {
            // Not polled here again: a future that wakes itself would never let the caller go on.
            waker.wake_by_ref();
        }
    }

    /// Runs a future each time it is due, until it has ended, on a worker of its pool in an
    /// isolated call. Does nothing for other jobs, nor on another thread. Ends early in a child of
    /// the process.
    pub(super) fn run_until_done(&self, isolation: Isolation) {
        let Some(worker) = self.worker() else { return };
        while !self.task().is_run_at_once() && !self.is_finished() && self.is_here() {
            // Liveness: the thread that wakes or ends the future sets the signal. If that came
            // before the signal was stored, the state says so, and the signal is dropped, which
            // sets it.
            let mut waits = true;
            driver::wait_for_job(isolation, |signal| {
                waits = self.task().notify_when_due(Waiter::Thread(signal));
            });
            if !waits {
                // A future that wakes itself may wait for a job that no other worker runs.
                worker.run_inbox_jobs();
                // Or for what a job on another worker does.
                point_if_seeded(worker);
            }
            self.run_on(worker, isolation);
        }
    }

    /// Runs the job on this thread's worker, if no other worker has begun it. In an isolated call,
    /// the job's waits leave alone the jobs that are for the waits of this frame.
    ///
    /// The job does not come from a queue, so the worker may not be in a job. The frame prevents
    /// the job from waiting for the pool, which may have adopted this thread.
    pub(super) fn run_on(&self, worker: &WorkerThread, isolation: Isolation) {
        let run = || keeping_own_pool(|| self.task().run_here(worker.registry()));
        match isolation {
            Isolation::Anything => run(),
            isolation => worker.isolate(isolation, run),
        }
    }

    /// Runs jobs of this worker as [`help`](Self::help) does. If the worker finds the job in its
    /// own deque, returns the result, and the handle has left the task.
    pub(super) fn join_on_worker(&mut self) -> Option<Result<T, JoinError>> {
        // SAFETY: 1. the worker runs jobs here, and after them the thread is still this worker.
        let worker = unsafe { WorkerThread::current() }
            .filter(|worker| ptr::eq(worker.registry(), self.registry))?;
        let task = self.task.filter(|_| self.clear_waiter())?;
        // SAFETY: 1. it points to the handle's task. The handle has no waiter, and forgets the task
        // below if there is a result.
        let result = unsafe { (self.join_on)(task.as_ptr().cast(), worker) };
        if result.is_some() {
            self.task = None;
        } else if !self.is_finished() {
            self.run_on(worker, worker.isolation());
        }
        result
    }

    /// Waits until the job is done. A worker runs jobs of its pool meanwhile.
    pub(super) fn wait(&mut self, isolation: Isolation) {
        // A future that was polled before may have left a waker.
        if self.is_here() && self.clear_waiter() {
            // Liveness: the worker that runs the job, or the thread that aborts it, sets the
            // signal. If the job is done already, the signal is dropped, which sets it.
            if self.worker().is_some() && self.task().is_run_at_once() {
                driver::wait_for_own_job(isolation, |signal| {
                    self.set_waiter(Waiter::Thread(signal));
                });
            } else {
                driver::wait_for_job(isolation, |signal| {
                    self.set_waiter(Waiter::Thread(signal));
                });
            }
        }
    }
}
