//! Jobs that no caller waits for.

use std::{mem::MaybeUninit, ptr::NonNull};

use pool_core::{Job, JobHeader, JobRef};

use crate::{
    api::job_memory,
    job_context::Context,
    platform::{Registry, WorkerThread},
    thread_pool::{
        current::{PoolGuard, with_job_reference},
        discard::Discard,
    },
    worker::current_worker_of,
};

/// Spawns a job on the current pool, without waiting for it.
///
/// A worker queues the job on its own deque, and runs the newest job of the deque first;
/// [`spawn_fifo`] keeps the order. A dropped pool runs all spawned jobs before it ends. Each 128th
/// job that the worker takes from its deque is the oldest one. So an endless chain of jobs that
/// each spawn the next one does not starve others.
///
/// A panic goes to the pool's [handler](crate::ThreadPoolBuilder::panic_handler); without a handler
/// it aborts the process.
///
/// # Examples
/// ```
/// let (sender, receiver) = std::sync::mpsc::channel();
/// pool_std::spawn(move || sender.send(42).unwrap());
/// assert_eq!(receiver.recv(), Ok(42));
/// ```
pub fn spawn<F>(job: F)
where
    F: FnOnce() + Send + 'static,
{
    with_job_reference(|registry| spawn_on(registry, job));
}

/// Spawns jobs on the current pool as [`spawn`] does, without waiting for them.
///
/// The jobs that the iterator yields are queued in batches: up to 64 jobs need one fence and one
/// decision about which workers to wake, whereas `spawn` needs one of each per job. The caller
/// wakes a few sleeping workers, at most eight by default, and these wake others as long as there
/// are jobs. A worker that spawns runs the newest job first.
///
/// A job may have to wait until the iterator has yielded 64 jobs or has ended. So the iterator must
/// not wait for a job.
///
/// # Panics
/// Resumes a panic of the iterator, after spawning the jobs that it has yielded.
///
/// # Examples
/// ```
/// let (sender, receiver) = std::sync::mpsc::channel();
/// pool_std::spawn_many((0..100).map(|number| {
///     let sender = sender.clone();
///     move || sender.send(number).unwrap()
/// }));
/// drop(sender);
/// assert_eq!(receiver.iter().sum::<u32>(), 4950);
/// ```
pub fn spawn_many<I>(jobs: I)
where
    I: IntoIterator<Item: FnOnce() + Send + 'static>,
{
    PoolGuard::current().while_held(|registry| spawn_many_on(registry, jobs));
}

/// Spawns a job as [`spawn`] does, but the jobs that one worker spawns this way start in the order
/// in which they were spawned. Jobs that it spawns in [isolation](crate::isolate) are ordered
/// separately.
///
/// # Examples
/// ```
/// let pool = pool_std::ThreadPoolBuilder::new().num_threads(1).build()?;
/// let (sender, receiver) = std::sync::mpsc::channel();
/// pool.install(|| {
///     for number in 0..3 {
///         let sender = sender.clone();
///         pool_std::spawn_fifo(move || sender.send(number).unwrap());
///     }
/// });
/// drop(sender);
/// assert!(receiver.iter().eq(0..3));
/// # Ok::<(), pool_std::BuildError>(())
/// ```
pub fn spawn_fifo<F>(job: F)
where
    F: FnOnce() + Send + 'static,
{
    with_job_reference(|registry| spawn_fifo_on(registry, job));
}

/// Spawns a job on a pool to which the caller has added a reference for it. The registry must live
/// until the call returns, even if the job ends earlier.
pub(crate) fn spawn_on(registry: &Registry, job: impl FnOnce() + Send + 'static) {
    // SAFETY: 1. the job is queued; the reference is used for this alone.
    unsafe {
        let worker = current_worker_for_detached(registry);
        post_or_inject(worker, registry, counted_job(registry, job));
    }
}

/// Spawns a job as [`spawn_on`] does, but the jobs that one worker spawns this way start in that
/// order.
pub(crate) fn spawn_fifo_on(registry: &Registry, job: impl FnOnce() + Send + 'static) {
    // SAFETY: 1. it is queued below.
    let job = unsafe { counted_job(registry, job) };
    match current_worker_for_detached(registry) {
        // SAFETY: `push`: 1. the queue needs no node; 2. the FIFO is part of the registry, as is
        // the deque with the stand-in, and only workers run it, which hold the registry. `post`: 1.
        // the stand-in is used for this alone.
        Some(worker) => unsafe { worker.post(worker.fifo().push(NO_NODE, job)) },
        // SAFETY: 1. it is used for this alone, and the queue needs no node. The injector is in
        // order by itself.
        None => unsafe { registry.inject(NO_NODE, job) },
    }
}

/// The most jobs that [`spawn_many_on`] announces together. So their references fit on the stack.
const BATCH: usize = 64;

/// Jobs that were created and are not yet queued. They are queued when the value is dropped, also
/// by a panic of the iterator that gives the jobs.
struct Batch<'r, C: Fn(usize)> {
    worker: Option<&'r WorkerThread>,
    registry: &'r Registry,
    /// Receives the number of jobs that are about to be queued.
    count_in: C,
    jobs: [MaybeUninit<JobRef>; BATCH],
    count: usize,
}

impl<C: Fn(usize)> Batch<'_, C> {
    /// Queues the jobs.
    fn flush(&mut self) {
        let count = std::mem::take(&mut self.count);
        if count == 0 {
            return;
        }
        (self.count_in)(count);
        let jobs = &self.jobs[..count];
        // SAFETY: the first `count` were written by `push`.
        let jobs = unsafe { &*(std::ptr::from_ref(jobs) as *const [JobRef]) };
        // SAFETY: 1. each was given to `push` for this alone, and `count` is zero by now.
        unsafe { post_or_inject_many(self.worker, self.registry, jobs) };
    }

    /// Adds a job. The caller uses it for nothing else.
    fn push(&mut self, job: JobRef) {
        self.jobs[self.count].write(job);
        self.count += 1;
        if self.count == BATCH {
            self.flush();
        }
    }
}

impl<C: Fn(usize)> Drop for Batch<'_, C> {
    fn drop(&mut self) {
        self.flush();
    }
}

/// Queues the jobs that an iterator gives, with one fence and one decision which workers to wake
/// for each [`BATCH`] of them. If the iterator panics, the jobs that it has given are queued all
/// the same.
///
/// `count_in` receives the number of jobs that are queued next, so that they can be counted
/// together. It must not panic. The registry must live until the call returns.
pub(crate) fn queue_many(
    worker: Option<&WorkerThread>,
    registry: &Registry,
    count_in: impl Fn(usize),
    jobs: impl Iterator<Item = JobRef>,
) {
    let mut batch = Batch {
        worker,
        registry,
        count_in,
        jobs: [const { MaybeUninit::uninit() }; BATCH],
        count: 0,
    };
    // Not by `for_each`: an iterator's own `fold` would get the closure that queues the jobs, and
    // could call it while this thread has lent the worker.
    for job in jobs {
        batch.push(job);
    }
}

/// Spawns jobs on a pool that the caller keeps from ending.
pub(crate) fn spawn_many_on<I>(registry: &Registry, jobs: I)
where
    I: IntoIterator<Item: FnOnce() + Send + 'static>,
{
    // SAFETY: 1. `queue_many` queues it, after its reference was added.
    let jobs = jobs
        .into_iter()
        .map(|job| unsafe { counted_job(registry, job) });
    let worker = current_worker_for_detached(registry);
    queue_many(
        worker,
        registry,
        |count| registry.add_references(count),
        jobs,
    );
}

/// A closure that borrows nothing, in memory that the execution frees.
#[repr(C)]
struct SpawnJob<F> {
    header: JobHeader,
    closure: F,
}

// SAFETY: 1. the header comes first; `new` makes it for this type.
unsafe impl<F: FnOnce() + Send + 'static> Job for SpawnJob<F> {
    unsafe fn execute(this: *const ()) {
        // SAFETY: 1. by obligations 1 and 2 this is the pointer of `counted_job`, and used once.
        let Self { closure, .. } = unsafe { job_memory::take_out(this.cast_mut().cast::<Self>()) };
        closure();
    }
}

impl<F: FnOnce() + Send + 'static> SpawnJob<F> {
    fn new(closure: F) -> Self {
        Self {
            header: JobHeader::new::<Self>(),
            closure,
        }
    }
}

/// A job's pointer to its pool, which does not end before the job has removed its reference.
pub(super) struct PoolOfJob(*const Registry);

// SAFETY: the registry is `Sync`; `counted_job` says how long it lives.
unsafe impl Send for PoolOfJob {}

impl PoolOfJob {
    pub(super) fn new(registry: &Registry) -> Self {
        Self(registry)
    }

    /// Returns the pool.
    ///
    /// # Safety
    /// 1. The calling thread is running the job.
    pub(super) unsafe fn get(&self) -> &Registry {
        // SAFETY: by obligation 1 the thread is a worker of the pool, since only those run its
        // jobs. A worker outlives the job that it runs, and the registry outlives its
        // workers.
        unsafe { &*self.0 }
    }
}

/// Creates a job of a spawned closure. It removes a reference to the pool when it ends. A panic
/// goes to the pool's handler.
///
/// The job holds no `Arc` of the pool, which would be one more count that all threads write. Its
/// reference keeps the workers from ending before it is run, and they hold the registry in place.
///
/// # Safety
/// 1. The caller puts the job into a queue of this pool, and adds a reference for it before.
pub(crate) unsafe fn counted_job(
    registry: &Registry,
    closure: impl FnOnce() + Send + 'static,
) -> JobRef {
    let (pool, context) = (PoolOfJob::new(registry), Context::current());
    let job = SpawnJob::new(move || {
        // The whole value, not its field, moves into the job.
        let pool = pool;
        // SAFETY: 1. by obligation 1 of `counted_job`.
        let registry = unsafe { pool.get() };
        let data = registry.data();
        if data.discard.is_on() {
            Discard::drop_job(registry, || {
                // Both hold values of the user, whose drops may panic.
                drop((closure, context));
                true
            });
        } else {
            let run = || context.run(closure);
            data.handlers.run_and_handle_panic("a spawned job", run);
        }
        registry.remove_reference_of_job();
    });
    // SAFETY: 1. the block lives until the job is run; 2. the closure is `Send`.
    unsafe { JobRef::new(job_memory::put(job)) }
}

/// The node of a job in this platform's queues, which need none.
pub(crate) const NO_NODE: NonNull<()> = NonNull::dangling();

/// Queues a job on the deque of the worker of this pool that this thread is, or else on the pool's
/// injector.
///
/// # Safety
/// 1. As for [`JobRef::execute`].
#[inline]
pub(crate) unsafe fn post_or_inject(
    worker: Option<&WorkerThread>,
    registry: &Registry,
    job: JobRef,
) {
    match worker {
        // SAFETY: obligation 1 is forwarded to our caller.
        Some(worker) => unsafe { worker.post(job) },
        // SAFETY: as above; the queue needs no node.
        None => unsafe { registry.inject(NO_NODE, job) },
    }
}

/// Returns the worker of this thread, if the thread is a worker of this pool and may put detached
/// jobs, for which no scope waits, on its deque. A worker in an isolated job may not, because its
/// waits would run them. Nor may a worker that is about to park, because a chain of jobs that each
/// spawn the next one would keep it from parking.
///
/// The reference must not outlive the caller's stay on the worker.
#[inline]
pub(super) fn current_worker_for_detached(registry: &Registry) -> Option<&WorkerThread> {
    current_worker_of(registry).filter(|worker| !worker.is_isolated() && worker.may_post())
}

/// Queues jobs as [`post_or_inject`] does, with one fence and one decision which workers to wake
/// for all.
///
/// # Safety
/// 1. As for [`JobRef::execute`], for each job.
unsafe fn post_or_inject_many(worker: Option<&WorkerThread>, registry: &Registry, jobs: &[JobRef]) {
    match worker {
        // SAFETY: obligation 1 is forwarded to our caller.
        Some(worker) => unsafe { worker.post_many(jobs) },
        // SAFETY: 1. the queue needs no node.
        None => unsafe { registry.inject_many(jobs.iter().map(|&job| (NO_NODE, job))) },
    }
}
