//! Calls into a pool from outside, on a worker or as a guest. They keep the pool from being idle.

use std::{sync::Arc, thread};

use pool_core::{Call, Isolation};

use super::crowd::short_calls::in_call;
use super::{ThreadPool, lazy::LazyThreads, stack};
use crate::{
    api::CurrentPool,
    blocking::handlers::is_in_handler,
    fork,
    job_context::run_call,
    platform::{Registry, Std, WorkerThread},
    worker::{current_worker_of, frames},
};

impl ThreadPool {
    /// Runs a closure on one of the workers, and waits for it. Inside the closure, `join`, `scope`
    /// and the other free functions use this pool.
    ///
    /// A worker of another pool runs jobs of that pool while it waits.
    ///
    /// # Panics
    /// Resumes the closure's panic.
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let workers = pool.install(|| {
    ///     assert!(pool_std::current_thread_index().is_some());
    ///     pool_std::current_num_threads()
    /// });
    /// assert_eq!(workers, 2);
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    pub fn install<F, R>(&self, closure: F) -> R
    where
        F: FnOnce() -> R + Send,
        R: Send,
    {
        self.in_worker(|_, _| closure())
    }

    /// Runs a closure on the calling thread, as a worker of this pool. Inside the closure, `join`,
    /// `scope` and the other free functions use this pool, and other workers steal from it at once.
    ///
    /// Unlike [`install`](Self::install), this neither passes the closure to another thread nor
    /// wakes one: the caller takes the place of a worker that sleeps between jobs, while that
    /// worker's thread keeps sleeping. So the number of threads that run jobs never exceeds the
    /// number of workers. The closure is installed instead if all workers are awake, if the caller
    /// is a worker of another pool, or if the pool [has no
    /// guests](crate::ThreadPoolBuilder::guests). On a worker of this pool, the closure runs at
    /// once.
    ///
    /// # How the closure runs
    ///
    /// - It runs on its caller's thread, with that thread's stack and thread-locals, or else on a
    ///   thread of the pool. Do not rely on either.
    /// - It runs as a worker: [`current_thread_index`](crate::current_thread_index) is the number
    ///   of the worker whose place the caller has taken. The start handler was called for that
    ///   worker, but on the worker's own thread.
    /// - In its joins and scopes, it runs only descendants of the jobs that it waits for, as in
    ///   [`isolate`](crate::isolate). So the caller may hold a lock that other jobs of the pool
    ///   take, unless every worker is blocked on that lock when the call begins: the call needs the
    ///   place of one of them.
    /// - While it runs, anything that only this worker may run is delayed: its broadcast jobs,
    ///   unless the closure waits for other jobs and runs them meanwhile, and a [request to
    ///   park](Self::set_active_workers) the worker. A closure that blocks for a long time should
    ///   call [`block_in_place`](crate::block_in_place()), or be [installed](Self::install) by a
    ///   thread that can wait.
    /// - The [metrics](Self::metrics) attribute what the closure does to that worker. After a call
    ///   that is shorter than 10 microseconds, the time of the next 63 calls counts as asleep until
    ///   they search, because reading the clock costs as much as a short call.
    ///
    /// Jobs that the closure has spawned are left to the pool when it returns. Calling
    /// [`exit`](std::process::exit) in the closure ends the process, as in a job. If the process
    /// forks in the closure, the child is not a guest: there, the free functions use the child's
    /// global pool.
    ///
    /// # Panics
    /// Resumes the closure's panic, when the worker has its place back.
    ///
    /// # Complexity
    /// If no thread must be woken, a call checks each worker three times, and makes no system call.
    /// It takes about a hundred nanoseconds, and up to some microseconds if other workers have
    /// started to run jobs since the last call.
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let numbers: Vec<u64> = (0..1000).collect();
    /// let (left, right) = numbers.split_at(500);
    /// let (left, right): (u64, u64) =
    ///     pool.call(|| pool_std::join(|| left.iter().sum(), || right.iter().sum()));
    /// assert_eq!(left + right, 499_500);
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    ///
    /// Source: Chili and Cilk also run a caller's thread as a worker.
    #[doc(alias = "install")]
    #[doc(alias = "guest")]
    pub fn call<F, R>(&self, closure: F) -> R
    where
        F: FnOnce() -> R + Send,
        R: Send,
    {
        Call::enter(|_: &WorkerThread, _| closure(), |call| self.run_call(call))
    }

    fn run_call(&self, call: Call<'_, Std>) {
        let visit = self.visit();
        let guests = self.registry.data().guests;
        let has_guests = guests.are_for(CurrentPool::OWN);
        let run = |call: Call<'_, Std>, worker: &WorkerThread, migrated| {
            let _visit = visit;
            run_of_guest(call, worker, migrated);
        };
        call.within(run, |mut call| {
            let as_guest = |worker: &WorkerThread| call.reborrow().run(worker, false);
            let may_be_guest = has_guests && guests.include_this_thread();
            if !may_be_guest || self.registry.try_call(as_guest).is_err() {
                run_call(&self.registry, call);
            }
        });
    }

    pub(crate) fn in_worker<R: Send>(
        &self,
        closure: impl FnOnce(&WorkerThread, bool) -> R + Send,
    ) -> R {
        match current_worker_of(&self.registry) {
            Some(worker) => closure(worker, false),
            None => Call::enter(closure, |call| self.run_installed(call)),
        }
    }

    fn run_installed(&self, call: Call<'_, Std>) {
        let visit = self.visit();
        let run = |call: Call<'_, Std>, worker: &WorkerThread, migrated| {
            let _visit = visit;
            call.run(worker, migrated);
        };
        call.within(run, |call| run_call(&self.registry, call));
    }

    /// Adds a reference, to a pool whose threads run from now on.
    ///
    /// # Panics
    /// If the pool has been shut down, or is that of a parent of this process, or if its threads
    /// cannot be started.
    pub(super) fn add_reference(&self) {
        if !self.try_add_reference() {
            has_ended();
        }
    }

    /// Adds a reference, to a pool whose threads run from now on. Returns false if the pool has
    /// been shut down.
    ///
    /// # Panics
    /// If the pool is that of a parent of this process, or if its threads cannot be started.
    pub(super) fn try_add_reference(&self) -> bool {
        fork::check(&self.registry);
        if self.registry.data().lazy.are_pending() {
            start_lazy_threads(&self.registry);
        }
        // Another thread may have shut the pool down.
        self.registry.try_add_reference_of_job()
    }

    /// Adds a reference until the value is dropped.
    ///
    /// # Panics
    /// If the pool has been shut down.
    pub(super) fn hold(&self) -> Visit<'_> {
        self.add_reference();
        Visit(&self.registry)
    }

    /// Adds a reference for a call, unless a worker of the pool makes it: then it is a part of a
    /// job, or of what an adopted thread does by itself.
    ///
    /// The closure that the call runs takes the reference, and drops it on the worker that has run
    /// the closure. The caller might run another job meanwhile, which waits until the pool is idle.
    ///
    /// # Panics
    /// If the pool has been shut down.
    pub(super) fn visit(&self) -> Option<Visit<'_>> {
        current_worker_of(&self.registry)
            .is_none()
            .then(|| self.hold())
    }

    /// Adds a reference for each worker. Returns a function that gives out one of these references
    /// for each call: one per worker's job.
    ///
    /// # Panics
    /// If the pool has been shut down.
    pub(super) fn visit_each<'p>(&'p self) -> impl Fn() -> Visit<'p> {
        self.add_reference();
        self.registry
            .add_references(self.registry.num_workers() - 1);
        || Visit(&self.registry)
    }

    /// Runs a closure that uses the pool, on this thread. The call holds a reference, so the
    /// closure must not wait until the pool is idle or has ended.
    ///
    /// # Panics
    /// If the pool has been shut down.
    pub(super) fn while_visiting<R>(&self, closure: impl FnOnce(&Arc<Registry>) -> R) -> R {
        let _visit = self.hold();
        frames::while_visiting(&self.registry, || closure(&self.registry))
    }
}

/// A reference to a pool, of a call from outside.
pub(super) struct Visit<'p>(&'p Registry);

impl<'p> Visit<'p> {
    /// Adds a reference. Returns `None` if the pool has ended.
    pub(super) fn try_new(registry: &'p Registry) -> Option<Self> {
        // Not before: the drop of a value would remove a reference.
        registry.try_add_reference().then(|| Self(registry))
    }
}

impl Drop for Visit<'_> {
    fn drop(&mut self) {
        self.0.remove_reference();
    }
}

/// Starts the threads of a pool that has lazy ones.
///
/// # Panics
/// If the system refuses one.
#[cold]
pub(crate) fn start_lazy_threads(registry: &Arc<Registry>) {
    if let Err(error) = LazyThreads::start(registry) {
        panic!("the thread pool cannot be used: {error}");
    }
}

/// Ends a call on a pool that has ended.
#[cold]
fn has_ended() -> ! {
    panic!("the thread pool has been shut down")
}

/// Whether threads outside a pool run closures as its guests.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Guests {
    /// Workers vacate their seats when they sleep.
    pub(crate) are_possible: bool,
    /// The choice of the builder. If it is `None`, the function that is called decides.
    chosen: Option<bool>,
    /// The minimum number of bytes of stack that a guest must have left.
    least_stack: usize,
}

/// The standard library's size of a stack that neither the program nor the environment sets.
const DEFAULT_STACK: usize = 2 << 20;

impl Guests {
    /// Creates the choice of a pool. `stack_size` is what the program or its user has set for its
    /// workers' stacks. Without `are_possible`, the pool has no guests at all.
    pub(crate) fn new(are_possible: bool, chosen: Option<bool>, stack_size: Option<usize>) -> Self {
        Self {
            are_possible: are_possible && chosen != Some(false),
            chosen,
            least_stack: match stack_size {
                // Closures may need it. A thread with such a stack has used a little.
                Some(size) => size - size / 8,
                None => DEFAULT_STACK / 2,
            },
        }
    }

    /// Whether a function that uses this [`CurrentPool`] makes threads outside the pool guests. If
    /// so, its calls from outside are isolated, even if the calling thread cannot be a guest now.
    pub(crate) fn are_for(self, current: CurrentPool) -> bool {
        self.are_possible
            && self
                .chosen
                .unwrap_or_else(|| current.has_guests_by_default())
    }

    /// Whether the calling thread may be a guest now. A thread in a handler may not: as a worker,
    /// it would run other jobs, which may wait for the end of the handler. Nor may one that
    /// unwinds: jobs that ask whether they panic, as the guard of a mutex does, would be told that
    /// they do.
    pub(crate) fn include_this_thread(self) -> bool {
        !is_in_handler() && !thread::panicking() && stack::has_left(self.least_stack)
    }
}

/// Runs a call that a guest makes, or would have made, on a worker.
pub(super) fn run_of_guest(call: Call<'_, Std>, worker: &WorkerThread, migrated: bool) {
    // What the caller holds, such as locks, may be what any other job needs. It waits for this
    // call, wherever that runs.
    worker.isolate(Isolation::Subtree, || {
        in_call(worker, || call.run(worker, migrated));
    });
}
