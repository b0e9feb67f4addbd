//! Calls: closures that a worker runs for a thread that waits for them.

use core::{
    fmt,
    ptr::{self, NonNull},
};

use super::Registry;
use crate::{
    job::{JobContext, JobHeader, StackJob},
    latch::{BlockingLatch, Latch, SpinLatch},
    platform::Platform,
    queue::JobQueue,
    unwind::no_unwind,
    worker::{
        WorkerThread,
        cold::{ColdPath, Path},
    },
};

#[cfg(all(test, not(loom)))]
mod tests;

/// A closure that a worker runs for a thread that waits for it. A call hides the types of the
/// closure and of its result, so the code that passes it on is compiled once instead of once per
/// closure.
///
/// # Examples
/// ```
/// use pool_core::{Call, Platform, Registry, WorkerThread};
///
/// /// Runs a closure on a worker, and counts it.
/// fn count<P: Platform, R: Send>(
///     registry: &Registry<P>,
///     calls: &mut usize,
///     closure: impl FnOnce(&WorkerThread<P>, bool) -> R + Send,
/// ) -> R {
///     Call::enter(closure, |call| {
///         *calls += 1;
///         registry.run_call(call);
///     })
/// }
/// ```
pub struct Call<'a, P: Platform> {
    headers: Headers,
    closure: AnyClosure<'a, P>,
}

impl<P: Platform> Call<'_, P> {
    /// Wraps a closure in a call and passes it to `enter`, which must run the call before it
    /// returns. Returns the closure's result.
    ///
    /// # Panics
    /// If the call was not run.
    pub fn enter<F, R>(closure: F, enter: impl FnOnce(Call<'_, P>)) -> R
    where
        F: FnOnce(&WorkerThread<P>, bool) -> R + Send,
        R: Send,
    {
        let mut closure = Some(closure);
        let mut result = None;
        enter(Call {
            headers: Headers::named::<P, F>(),
            closure: &mut |context: JobContext<'_, P>| {
                if let Some(closure) = closure.take() {
                    result = Some(closure(context.worker(), context.migrated()));
                }
            },
        });
        result.expect("a call was not run")
    }

    /// Passes `enter` a new call, which runs `closure` and gives it this call. Both calls have the
    /// same name in traces.
    pub fn within(
        self,
        closure: impl FnOnce(Self, &WorkerThread<P>, bool) + Send,
        enter: impl FnOnce(Call<'_, P>),
    ) {
        let headers = self.headers;
        let mut once = Some((self, closure));
        enter(Call {
            headers,
            closure: &mut |context: JobContext<'_, P>| {
                if let Some((call, closure)) = once.take() {
                    closure(call, context.worker(), context.migrated());
                }
            },
        });
    }

    /// Returns the same call, for a function that may return without running it.
    pub fn reborrow(&mut self) -> Call<'_, P> {
        Call {
            headers: self.headers,
            closure: &mut *self.closure,
        }
    }

    /// Runs the closure, unless it has been run. The closure receives whether it has migrated.
    ///
    /// # Panics
    /// Resumes the closure's panic.
    pub fn run(self, worker: &WorkerThread<P>, migrated: bool) {
        (self.closure)(JobContext::on_worker(worker, migrated));
    }
}

impl<P: Platform> fmt::Debug for Call<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").finish_non_exhaustive()
    }
}

/// The closure of a call. It stores its own result.
type AnyClosure<'a, P> = &'a mut (dyn FnMut(JobContext<'_, P>) + Send + 'a);

/// The job of a call, with the latch that the caller waits on.
type CallJob<'a, L> = StackJob<L, AnyClosure<'a, <L as Latch>::Platform>>;

/// Functions that make the header of a call's job, which has the name of the call's closure.
#[derive(Clone, Copy)]
struct Headers {
    of_outside: fn() -> JobHeader,
    of_cross: fn() -> JobHeader,
}

impl Headers {
    fn named<P: Platform, N>() -> Self {
        Self {
            of_outside: JobHeader::maker::<CallJob<'_, BlockingLatch<P>>, N>(),
            of_cross: JobHeader::maker::<CallJob<'_, SpinLatch<'_, P>>, N>(),
        }
    }
}

impl<P: Platform> Registry<P> {
    /// Runs a closure on a worker of this pool. If this thread is one, runs it here; otherwise
    /// injects it and waits. The closure receives whether it has migrated.
    ///
    /// # Panics
    /// Resumes the closure's panic.
    pub fn in_worker<R: Send>(
        &self,
        closure: impl FnOnce(&WorkerThread<P>, bool) -> R + Send,
    ) -> R {
        // SAFETY: a worker lives as long as a thread is that worker.
        match unsafe { P::current().as_ref() } {
            Some(worker) if ptr::eq(worker.registry(), self) => closure(worker, false),
            _ => Call::enter(closure, |call| self.run_call(call)),
        }
    }

    /// Runs a call as [`in_worker`](Self::in_worker) runs a closure.
    ///
    /// # Panics
    /// Resumes the closure's panic.
    pub fn run_call(&self, mut call: Call<'_, P>) {
        // SAFETY: a worker lives as long as a thread is that worker.
        match unsafe { P::current().as_ref() } {
            Some(worker) if ptr::eq(worker.registry(), self) => call.run(worker, false),
            None => {
                P::run_cold(ColdPath(Path::RunOutside(self, call.reborrow())));
            }
            Some(worker) => {
                P::run_cold(ColdPath(Path::RunCross(self, worker, call.reborrow())));
            }
        }
    }

    /// Runs a call of a thread that is not a worker of any pool.
    #[cold]
    pub(crate) fn run_outside(&self, call: Call<'_, P>) {
        let header = (call.headers.of_outside)();
        // SAFETY: 1. `Headers::named` made it for this type. A call copies its headers only from
        // calls of its own platform.
        let job = unsafe { CallJob::with_header(header, call.closure, BlockingLatch::new()) };
        let mut node = P::Queue::node();
        // SAFETY: `inject`: 1. job and node stay here until the latch is set, after the job has
        // been run; `as_job_ref`: 1. likewise; 2. any thread may set the latch. `take_result`: 1.
        // the latch is set; 2. this is the only call.
        unsafe {
            no_unwind(|| {
                self.inject(NonNull::from(&mut node), job.as_job_ref());
                let mut is_set = false;
                P::wait_outside(self, || {
                    job.latch().wait();
                    is_set = true;
                });
                // The job may still be running in this frame.
                assert!(is_set, "the platform's `wait_outside` returned early");
                self.note_resumed_caller();
            });
            job.take_result();
        }
    }

    /// Runs a call of a worker of another pool. That worker runs jobs of its own pool while it
    /// waits.
    #[cold]
    pub(crate) fn run_cross(&self, current: &WorkerThread<P>, call: Call<'_, P>) {
        let header = (call.headers.of_cross)();
        // SAFETY: 1. `Headers::named` made it for this type. A call copies its headers only from
        // calls of its own platform.
        let job = unsafe { CallJob::with_header(header, call.closure, SpinLatch::cross(current)) };
        let mut node = P::Queue::node();
        // SAFETY: as in `run_outside`; any thread may set this latch, too.
        unsafe {
            no_unwind(|| {
                self.inject(NonNull::from(&mut node), job.as_job_ref());
                current.wait_for_outside(job.latch().core());
            });
            job.take_result();
        }
    }
}
