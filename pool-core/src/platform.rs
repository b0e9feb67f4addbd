//! What a pool needs of the world around it.

use deque_core::Storage;
use progress_core::{Domain, ManagedThread, Progress};
use sleep_core::{AwakeSet, LendSeats, Parker, SleepProtocol, WorkerIndex};

use crate::{
    deadlock::DeadlockDetection,
    isolation::Isolation,
    job::JobRef,
    metrics::{Observer, WokenBy},
    queue::JobQueue,
    registry::Registry,
    worker::{ColdPath, WorkerStorage, WorkerThread},
};

/// The environment in which a pool runs: threads or cores, unwinding or not, memory or none.
///
/// # Safety
/// 1. [`current`](Self::current) returns what was last given to [`set_current`](Self::set_current)
///    on the same thread, or null.
/// 2. [`keep_alive`](Self::keep_alive) keeps the registry in place until its value is dropped.
/// 3. [`catch_unwind`](Self::catch_unwind) returns exactly when the closure ends, also if it
///    unwinds, or does not return at all.
/// 4. [`free_later`](Self::free_later) drops what it is given only when all workers have made
///    progress, or never. It puts no other managed thread in the place of the worker's, and keeps
///    no reference that it gets from that: the lifetime of a [`ManagedWorker`] is longer than the
///    pool's.
/// 5. Nothing unwinds but [`resume_unwind`](Self::resume_unwind), and [`run_cold`](Self::run_cold)
///    where its path does: no other function, no method of the [`Observer`](Self::Observer), and no
///    drop of a [`KeepAlive`](Self::KeepAlive). They are called from frames that other threads use.
/// 6. [`run_cold`](Self::run_cold), if it is not the one below, runs the path that it was given
///    before it ends, on the same thread, and returns the path's answer.
///
/// Of a [`SleepProtocol`], a [`Parker`] and a [`Waiter`], which are safe to implement, the same is
/// expected and not relied on: where one panics in such a frame, the process ends.
///
/// # Examples
/// A pool of two threads, whole:
/// ```
#[doc = include_str!("../examples/two_threads.rs")]
/// ```
pub unsafe trait Platform: Sized + 'static {
    /// Blocks a worker.
    type Parker: Parker + Send + Sync;
    /// Decides when a worker sleeps, and which worker is woken.
    type Sleep: SleepProtocol<Parker = Self::Parker> + LendSeats + AwakeSet + Send + Sync;
    /// Where the workers' shared halves are. No other registry has them, as [`WorkerStorage`]
    /// requires.
    type Workers: WorkerStorage<Self> + Send + Sync;
    /// Where a worker's deque keeps its jobs.
    type Storage: Storage<JobRef> + Send + Sync;
    /// The types of the pool's thread progress.
    type Progress: Domain<Parker = Self::Parker, Participants: Send + Sync>;
    /// The queue of jobs from outside, and of those for one worker alone.
    type Queue: JobQueue;
    /// How a thread that is not a worker waits.
    type Waiter: Waiter;
    /// Receives what each worker does: [`WorkerCounters`](crate::WorkerCounters), or
    /// [`NoMetrics`](crate::NoMetrics).
    type Observer: Observer;
    /// Receives which workers run and which sleep:
    /// [`NoDeadlockDetection`](crate::NoDeadlockDetection), or the accounting of `sleep-core`.
    type Deadlock: DeadlockDetection;
    /// What a panicking job leaves. Without unwinding: an empty type.
    type Panic: Send;
    /// What the platform keeps with each pool.
    type Data: Send + Sync;
    /// Holds a registry in place.
    type KeepAlive;

    /// Returns the worker that this thread is, or null. Called by every `join`.
    fn current() -> *const WorkerThread<Self>;

    /// Notes which worker this thread is.
    ///
    /// # Safety
    /// 1. Null, or a worker that stays in place until this is called again on the same thread.
    unsafe fn set_current(worker: *const WorkerThread<Self>);

    /// Runs a closure and catches its panic, if panics can be caught.
    fn catch_unwind<R>(closure: impl FnOnce() -> R) -> Result<R, Self::Panic>;

    /// Resumes a panic that was caught.
    fn resume_unwind(panic: Self::Panic) -> !;

    /// Holds a registry in place while a latch of one of its workers is being set by a thread
    /// that may not belong to it.
    ///
    /// # Safety
    /// 1. The registry is alive when the call begins.
    /// 2. The pointer is one that a worker was made with.
    unsafe fn keep_alive(registry: *const Registry<Self>) -> Self::KeepAlive;

    /// Drops what a deque has replaced when all workers have made progress. Does not unwind.
    fn free_later(worker: &mut ManagedWorker<Self>, replaced: Replaced<Self>);

    /// Observes that the pool has no reference any more, and that all its workers were requested to
    /// stop. Intended for platforms that keep workers elsewhere until then. Any thread may call
    /// this, and more than once if the pool [begins again](Registry::renew_reference).
    fn on_end(registry: &Registry<Self>) {
        let _ = registry;
    }

    /// Whether the removal of a pool's last reference ends the pool. If not, the pool goes on
    /// without references, and its workers are not requested to stop. By default it ends.
    ///
    /// For a platform whose process may be copied without the threads of its pools: the copy must
    /// not end them. Called only for the last reference, and for those to a
    /// [watched](Registry::watch) pool. In a pool that does not end,
    /// [`on_reference_removed`](Self::on_reference_removed) is not called either.
    fn can_end(registry: &Registry<Self>) -> bool {
        let _ = registry;
        true
    }

    /// Observes that a reference to a pool was removed which is [watched](Registry::watch). The
    /// thread that has removed it calls this, and holds the registry in place by other means. By
    /// default nothing happens, because nothing watches the pool.
    fn on_reference_removed(registry: &Registry<Self>) {
        let _ = registry;
    }

    /// Observes that a worker is about to take or to run jobs that other threads have queued. By
    /// default nothing happens.
    ///
    /// For a platform whose process may be copied without the threads of its pools: a worker whose
    /// frames continue in the copy must not run there what the original runs. The platform then
    /// ends the copy.
    #[inline]
    fn begin_search(registry: &Registry<Self>) {
        let _ = registry;
    }

    /// Lets another thread run, which is in the middle of an operation on a queue and for whose end
    /// the worker waits. `round` counts the calls of one wait from zero.
    ///
    /// By default, the worker relaxes as its parker does. If a yielding thread may still keep
    /// others from running, because its priority is higher, it should sleep for a moment after some
    /// rounds.
    fn give_way(worker: &WorkerThread<Self>, round: u32) {
        let _ = round;
        worker.parker().relax();
    }

    /// Runs `wait`, in which a thread that is not a worker waits for a job of the pool.
    ///
    /// By default, it does nothing else. A platform whose threads hold tokens gives the caller's
    /// token back meanwhile.
    fn wait_outside(registry: &Registry<Self>, wait: impl FnOnce()) {
        let _ = registry;
        wait();
    }

    /// Notes that a worker of this pool is about to stop running: it parks, or it leaves. Called by
    /// the worker, with no lock held. A pool also calls this before a job of its user blocks.
    ///
    /// For a limit on how many threads run at once, such as a jobserver.
    #[inline]
    fn release_thread(registry: &Registry<Self>) {
        let _ = registry;
    }

    /// Waits until a worker of this pool may run: the counterpart of
    /// [`release_thread`](Self::release_thread). Called by the worker when it arrives, and when it
    /// has been woken, with no lock held. May block.
    #[inline]
    fn acquire_thread(registry: &Registry<Self>) {
        let _ = registry;
    }

    /// Executes a [process fence](deque_core::FencePrice) for a worker that is about to sleep.
    /// Returns whether there was one: a fence for the worker, and at some moment of the call
    /// one for every other thread of the pool.
    ///
    /// A worker calls this in its last look, when it has registered as a sleeper and disabled the
    /// fast push of other workers. After `true`, no job that another worker has pushed is
    /// overlooked, not even the second half of a join. By default there is no such fence: then
    /// the worker executes one of its own, pauses, and may overlook such a job in a rare race,
    /// until the next one is announced.
    ///
    /// No memory safety rests on the answer.
    #[inline]
    fn fence_before_sleep(registry: &Registry<Self>) -> bool {
        let _ = registry;
        false
    }

    /// Whether threads outside the pool may run closures in the place of workers that sleep, see
    /// [`Registry::try_call`]. A worker asks right before it sleeps at top level.
    ///
    /// On such a platform [`current`](Self::current) is a variable of this platform alone: a guest
    /// is no worker of another one. The pool's parkers have [tokens for
    /// guests](Parker::park_guest), or a guest that sleeps keeps its processor busy.
    /// [`acquire_thread`](Self::acquire_thread) is not called for a guest when it comes, since
    /// its thread runs already; both are called in pairs when a guest sleeps in a join.
    fn has_guests(registry: &Registry<Self>) -> bool {
        let _ = registry;
        false
    }

    /// Returns how many workers of this pool can make progress at a time: those that have a
    /// processor, and those that the platform knows to wait for something else while they count
    /// as awake. `usize::MAX` if each worker has a processor.
    ///
    /// While that number is awake, no worker is woken for the second half of a join, which its
    /// poster runs itself if no thief comes. The pool asks at a join after a worker has fallen
    /// asleep, and not at each join. So a platform that begins to give a greater number calls
    /// [`Registry::reconsider_wakes`].
    ///
    /// A number that is too small leaves such jobs waiting, so a platform needs a way to notice
    /// that; see the page "Wake for processors" of the book. No other job is affected.
    fn parallelism(registry: &Registry<Self>) -> usize {
        let _ = registry;
        usize::MAX
    }

    /// Returns what a worker may run while it waits. `depth` says how many jobs from queues are
    /// nested on its stack. It may run less in a job that is [isolated](WorkerThread::isolate).
    ///
    /// Intended for a pool that isolates all waits, and for a bound on the depth of stacks. A
    /// worker calls this when it has to wait.
    fn isolation(registry: &Registry<Self>, depth: usize) -> Isolation {
        let _ = (registry, depth);
        Isolation::Anything
    }

    /// Whether this thread, which has queued a job of a join while workers sleep, wakes none of
    /// them yet. It asks again at its next join.
    ///
    /// Intended for a guest whose closure may end before a woken worker would help. As with
    /// [`parallelism`](Self::parallelism), the platform needs a way to notice a job that waits for
    /// long.
    fn delays_wake(registry: &Registry<Self>) -> bool {
        let _ = registry;
        false
    }

    /// [Runs](ColdPath::run) a path.
    ///
    /// By default, it does so in its caller. A program then contains only those of the pool's
    /// functions that it needs, but each of its crates has its own copies. A platform whose type
    /// has no parameters should do so in a function that is not inlined. These functions are then
    /// compiled once, with the platform.
    #[inline(always)]
    fn run_cold(path: ColdPath<'_, Self>) -> bool {
        path.run()
    }

    /// Returns a number that differs from worker to worker, for the order in which this worker
    /// tries its victims.
    fn random_seed(registry: &Registry<Self>, worker: WorkerIndex) -> u64;

    /// Returns what a worker's parker knows about its last wake-up, for traces. A worker calls this
    /// when it has been woken, perhaps before its waker has unparked it, so a parker tells each
    /// wake-up once.
    #[inline]
    fn woken_by(parker: &Self::Parker) -> WokenBy {
        let _ = parker;
        WokenBy::UNKNOWN
    }

    /// Returns the time in nanoseconds since some moment, or `None` if there is no clock.
    ///
    /// For the times in [metrics](crate::WorkerMetrics): a worker calls this when it begins and
    /// ends a search, and a sleep.
    fn now() -> Option<u64> {
        None
    }
}

/// The thread progress of a pool: its workers are the managed threads.
pub type PoolProgress<P> = Progress<<P as Platform>::Progress>;

/// A worker in the thread progress of its pool.
pub type ManagedWorker<P> = ManagedThread<'static, <P as Platform>::Progress>;

/// The rings that a worker's deque has replaced.
pub type Replaced<P> = <<P as Platform>::Storage as Storage<JobRef>>::Replaced;

/// How a thread that is not a worker waits for a job: a token that belongs to the thread.
///
/// No function may panic: the thread waits in a frame that others use, so that would end the
/// process.
///
/// # Examples
/// See [`Platform`].
pub trait Waiter: Sized + Send {
    /// Returns a handle to the calling thread.
    fn current() -> Self;

    /// Waits for a token of the calling thread. May return early.
    fn park();

    /// Gives the thread its token. The handle may outlive what the thread waits for, and the
    /// thread.
    fn unpark(self);
}
