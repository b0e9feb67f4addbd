//! Scopes: any number of jobs that may borrow from the frame that waits for them.

use core::{fmt, mem::MaybeUninit};

use deque_core::Position;
use sleep_core::WorkerIndex;

use crate::{
    isolation::Isolation,
    job::{JobRef, discard_panic},
    platform::Platform,
    primitive::{AtomicBool, AtomicU8, Ordering, UnsafeCell},
    registry::Registry,
    unwind::no_unwind,
    worker::{OutsideScopes, WorkerThread, lineage::Inner},
};

mod pending;
#[cfg(test)]
mod tests;

use pending::PendingJobs;

/// The part of a scope that does not depend on where its jobs are stored: it counts them, keeps the
/// first panic, and ends when all are done.
///
/// It cannot outlive its worker:
/// ```compile_fail,E0515
/// use pool_core::{Platform, Registry, ScopeCore, WorkerThread};
///
/// fn leave_behind<P: Platform>(
///     worker: WorkerThread<P>,
///     registry: &Registry<P>,
/// ) -> ScopeCore<'static, P> {
///     ScopeCore::new(Some(&worker), registry)
/// }
/// ```
#[repr(C)]
pub struct ScopeCore<'w, P: Platform> {
    panic: FirstPanic<P>,
    is_completed: AtomicBool,
    /// The last one, so that what its owner writes is on a line with the owner's own frame.
    pending: PendingJobs<'w, P>,
}

impl<'w, P: Platform> ScopeCore<'w, P> {
    /// Creates a scope whose jobs run on `registry`; `owner` is the worker that this thread is, if
    /// any.
    pub fn new(owner: Option<&'w WorkerThread<P>>, registry: &Registry<P>) -> Self {
        Self {
            pending: PendingJobs::new(owner, registry),
            panic: FirstPanic::new(),
            is_completed: AtomicBool::new(false),
        }
    }

    /// Runs the scope's body and then waits for its jobs; `owner` as for [`new`](Self::new). If it
    /// is another one and jobs are pending after the body, the process ends.
    ///
    /// # Panics
    /// Continues the first panic of the body or of a job, when all jobs have ended. Panics if it is
    /// called a second time.
    pub fn complete<R>(&self, owner: Option<&WorkerThread<P>>, body: impl FnOnce() -> R) -> R {
        self.complete_by(body, |body| self.run(owner, body))
    }

    /// Completes the scope by a function that [runs](Self::run) the body, or [runs it
    /// taking](Self::run_taking) jobs, whatever the body's type is. So that function is compiled
    /// once.
    ///
    /// # Panics
    /// As [`complete`](Self::complete). Panics if the body was not run.
    pub fn complete_by<R>(
        &self,
        body: impl FnOnce() -> R,
        run: impl FnOnce(&mut dyn FnMut()),
    ) -> R {
        let mut body = Some(body);
        let mut result = None;
        run(&mut || result = body.take().map(|body| body()));
        if let Some(panic) = self.panic.take() {
            continue_panic::<P, _>(panic, result);
        }
        result.expect("the body of a scope was not run")
    }

    /// Runs the scope's body and then waits for its jobs, for [`complete_by`](Self::complete_by).
    ///
    /// # Panics
    /// If it is called a second time.
    pub fn run(&self, owner: Option<&WorkerThread<P>>, body: &mut dyn FnMut()) {
        // Also this scope is noted as an open one, since a yield in the body changes where its jobs
        // begin on the worker's deque.
        //
        // SAFETY: 1. it gives out no job.
        unsafe { self.run_taking(owner, &|| None, body) };
    }

    /// Runs the body and waits as [`run`](Self::run) does. A worker that waits in isolation, for
    /// this scope or for the result of one of its jobs, meanwhile calls `take` for the jobs of this
    /// scope that no worker has queued. It may be the only worker that can run those jobs, and it
    /// takes no other jobs that are for all workers.
    ///
    /// It is notified by [`Registry::call_isolated_waiter`].
    ///
    /// # Panics
    /// As [`run`](Self::run). If `take` panics in a wait, the process ends.
    ///
    /// # Safety
    /// 1. `take` gives out each job once.
    pub unsafe fn run_taking(
        &self,
        owner: Option<&WorkerThread<P>>,
        take: &(dyn Fn() -> Option<JobRef> + Sync),
        body: &mut dyn FnMut(),
    ) {
        match (owner, self.pending.isolated_wait()) {
            (Some(worker), Some(awaited)) => worker.while_scope_is_open(take, awaited, || {
                self.run_and_wait(owner, OutsideScopes::Innermost, body);
            }),
            _ => self.run_and_wait(owner, OutsideScopes::None, body),
        }
    }

    fn run_and_wait(
        &self,
        owner: Option<&WorkerThread<P>>,
        outside: OutsideScopes,
        body: &mut dyn FnMut(),
    ) {
        // Ordering: Relaxed; it picks one call, which receives nothing from the others.
        let is_completed = self.is_completed.swap(true, Ordering::Relaxed);
        assert!(!is_completed, "a scope is completed once");
        self.catch(body);
        self.pending.end(owner, outside);
    }

    /// Returns the worker that waits for this scope if it runs only the scope's jobs meanwhile, and
    /// what descends from them. A job that no worker queues comes to it by
    /// [`run_taking`](Self::run_taking), and not by the pool's injector.
    pub fn isolated_waiter(&self) -> Option<WorkerIndex> {
        self.pending.isolated_waiter()
    }

    /// Whether a worker of the scope's pool may put a job of the scope on its deque.
    ///
    /// A worker that waits for the scope in isolation takes a job from another worker's deque only
    /// if it descends from what is waited for. So another worker may have it there only if it runs
    /// the job itself, before anything that may block.
    #[inline]
    pub fn may_post_on(&self, worker: &WorkerThread<P>) -> bool {
        worker.may_post()
            && (self.pending.is_owner(worker)
                || self.isolated_waiter().is_none()
                || worker.runs_rest_of_job())
    }

    /// Adds a job: [`job_done`](Self::job_done) must be called for it.
    ///
    /// `worker` is the worker that this thread is, if the caller knows it. This makes the call
    /// cheaper on the worker that the scope belongs to.
    #[inline]
    pub fn add_job(&self, worker: Option<&WorkerThread<P>>) {
        self.add_jobs(worker, 1);
    }

    /// Adds this many jobs, as [`add_job`](Self::add_job) does one.
    #[inline]
    pub fn add_jobs(&self, worker: Option<&WorkerThread<P>>, count: usize) {
        self.pending.add(worker, count);
    }

    /// Runs the body of a job. While it waits, the job may run no more than the job that opened the
    /// scope. Keeps its panic.
    ///
    /// A thief inherits this limit only while the worker that pushed the job still runs the
    /// spawning job; this call also covers jobs that begin later or arrive another way.
    #[inline]
    pub fn run_job(&self, body: impl FnOnce()) {
        let isolated = match self.pending.isolation() {
            Isolation::Anything => None,
            isolation => IsolatedJob::<P>::begin(isolation),
        };
        self.catch(body);
        drop(isolated);
    }

    /// Runs a closure, the body of the scope or of a job. Keeps its panic.
    pub fn catch<R>(&self, closure: impl FnOnce() -> R) -> Option<R> {
        match P::catch_unwind(closure) {
            Ok(result) => Some(result),
            Err(panic) => {
                self.panic.offer(panic);
                None
            }
        }
    }

    /// Whether jobs are pending, not including the body. For the thread that runs the body.
    pub fn has_pending_jobs(&self) -> bool {
        self.pending.count() > 1
    }

    /// Whether the body or a job has panicked so far.
    pub fn has_panicked(&self) -> bool {
        // Ordering: Relaxed; the answer may be out of date on return anyway.
        self.panic.state.load(Ordering::Relaxed) != EMPTY
    }

    /// Notes that a job of the scope is done. Separate from [`catch`](Self::catch), so that nothing
    /// of the job borrows from the scope any more, not even an argument of a function that
    /// still runs.
    ///
    /// # Safety
    /// 1. `this` is a scope that waits for this job: there was an [`add_job`](Self::add_job), and
    ///    this is the only call for it.
    /// 2. A worker of the scope's pool calls it, or a thread that keeps that pool alive meanwhile.
    pub unsafe fn job_done(this: *const Self) {
        // SAFETY: 1. the scope waits, and so lives, until this job is removed; this is the only
        // call for it; 2. is obligation 2.
        unsafe { PendingJobs::remove(&raw const (*this).pending) };
    }
}

impl<P: Platform> fmt::Debug for ScopeCore<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopeCore")
            .field("pending_jobs", &self.pending.count())
            .finish_non_exhaustive()
    }
}

/// Continues the first panic of a scope. What its body gave is dropped, a panic of that included.
#[cold]
fn continue_panic<P: Platform, R>(panic: P::Panic, result: Option<R>) -> ! {
    if let Err(second) = P::catch_unwind(|| drop(result)) {
        discard_panic::<P>(second);
    }
    P::resume_unwind(panic)
}

/// A worker that runs a job which is more isolated than the one below it. When the value is
/// dropped, it runs what the job has left on its deque.
struct IsolatedJob<'w, P: Platform> {
    worker: &'w WorkerThread<P>,
    begin: Position,
    outer_runs_rest: bool,
    _isolated: Inner<'w, P>,
}

impl<P: Platform> IsolatedJob<'_, P> {
    /// Returns `None` if the thread is no worker, or is in such a job already.
    #[cold]
    fn begin(isolation: Isolation) -> Option<Self> {
        // SAFETY: 1. the thread stays the worker until the job ends.
        let worker = unsafe { WorkerThread::<P>::current() };
        // In a pool that isolates all waits, what the job leaves at top level must not come after
        // an urgent job, or another one that blocks, either.
        let worker = worker.filter(|worker| {
            worker.isolation_of_job() < isolation || worker.is_in_job_at_top_level()
        })?;
        Some(Self {
            worker,
            begin: worker.own().next_position(),
            outer_runs_rest: worker.runs_rest.replace(true),
            _isolated: worker.begin_isolated(isolation),
        })
    }
}

impl<P: Platform> Drop for IsolatedJob<'_, P> {
    #[cold]
    fn drop(&mut self) {
        no_unwind(|| self.worker.run_rest_from(self.begin));
        self.worker.runs_rest.set(self.outer_runs_rest);
    }
}

const EMPTY: u8 = 0;
const WRITING: u8 = 1;
const FULL: u8 = 2;
/// The final state: a later panic must not be written while this one is moved out.
const TAKEN: u8 = 3;

/// Keeps the first of many panics.
///
/// It does not rely on what the scope knows of its jobs: [`ScopeCore::catch`] is safe, so a thread
/// that the scope does not wait for may offer a panic while another one takes it.
struct FirstPanic<P: Platform> {
    state: AtomicU8,
    panic: UnsafeCell<MaybeUninit<P::Panic>>,
}

// SAFETY: the cell is written by the thread that moves the state to WRITING, and read by the thread
// that moves the state on from FULL.
unsafe impl<P: Platform> Sync for FirstPanic<P> {}

impl<P: Platform> FirstPanic<P> {
    fn new() -> Self {
        Self {
            state: AtomicU8::new(EMPTY),
            panic: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    #[cold]
    fn offer(&self, panic: P::Panic) {
        // Ordering: Relaxed, there is nothing to receive.
        if self
            .state
            .compare_exchange(EMPTY, WRITING, Ordering::Relaxed, Ordering::Relaxed)
            .is_err()
        {
            discard_panic::<P>(panic);
            return;
        }
        // SAFETY: winning the exchange makes the cell ours.
        self.panic.with_mut(|cell| unsafe { (*cell).write(panic) });
        // Ordering: Release pairs with the Acquire of `take`, for the panic in the cell. For a job
        // of the scope its latch would do; a thread that the scope does not wait for has
        // only this.
        self.state.store(FULL, Ordering::Release);
    }

    /// Takes the panic, after the wait for all jobs.
    fn take(&self) -> Option<P::Panic> {
        // Ordering: Relaxed. What the jobs have offered comes before, by the wait for them.
        if self.state.load(Ordering::Relaxed) == EMPTY {
            return None;
        }
        // Ordering: Acquire pairs with the Release of `offer`. Relaxed on failure: no panic.
        self.state
            .compare_exchange(FULL, TAKEN, Ordering::Acquire, Ordering::Relaxed)
            .ok()
            .map(|_| {
                // SAFETY: FULL means written, and the exchange lets one thread take it.
                self.panic
                    .with(|cell| unsafe { (*cell).assume_init_read() })
            })
    }
}
