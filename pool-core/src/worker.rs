//! A worker: the half that is its thread's own.

use core::{
    any::TypeId, cell::Cell, fmt, marker::PhantomData, mem::offset_of, panic::RefUnwindSafe, ptr,
};

use deque_core::{Deque, Position, Worker};
use sleep_core::WorkerIndex;

use crate::{
    fifo::JobFifo,
    job::JobRef,
    managed::Managed,
    metrics::{Event, Observer as _},
    platform::Platform,
    random::XorShift64Star,
    registry::Registry,
    sources::{FairLooks, LastSource},
    unwind::no_unwind,
};

pub(crate) mod cold;
mod deque_use;
mod idle;
mod isolated;
mod jobs;
mod kept;
mod labels;
mod leftovers;
pub(crate) mod lineage;
mod lone_sleep;
mod open_scopes;
mod post;
mod shared;
mod shield;
#[cfg(test)]
mod tests;
mod wait;
mod yielding;

pub use cold::ColdPath;
use deque_use::DequeUse;
use kept::KeptReferences;
use open_scopes::OpenScopes;
pub use shared::{WorkerShared, WorkerStorage};
use shield::Watch;
pub(crate) use wait::{Awaited, OutsideScopes};

/// The half of a worker that belongs to its thread alone.
///
/// Exists while a thread is a worker, and is not shared with other threads.
///
/// # Examples
/// See [`Platform`].
#[repr(C)]
pub struct WorkerThread<P: Platform> {
    /// First, see [`Head`].
    platform: TypeId,
    /// Second, see [`Head`].
    index: WorkerIndex,
    /// Dropped before the deque is given back, which lets another thread become this worker. That
    /// thread needs a participant, and there are only as many as workers. If it took the last one,
    /// a thread that comes for another worker would be refused.
    pub(crate) managed: Managed<P>,
    own: Worker<&'static Deque<JobRef, P::Storage>>,
    pub(crate) random: XorShift64Star,
    pub(crate) last_source: LastSource,
    pub(crate) fair_looks: FairLooks,
    registry: *const Registry<P>,
    /// In the registry. Kept here because it is used for each job.
    shared: &'static WorkerShared<P>,
    /// How many jobs from queues are being run, one inside the other.
    depth: Cell<usize>,
    /// The end of the deque when the innermost job, or isolated closure, began, or a lower
    /// position: see [`lower_begin`](Self::lower_begin). A yield in isolation uses this position.
    /// Thieves use the positions in the lineage instead: where the stolen job began, and where its
    /// isolation began.
    begin: Cell<Position>,
    /// Whether this worker may be registered as a sleeper, so that others may leave its deque out.
    may_be_left_out: Cell<bool>,
    watch: Watch,
    kept: KeptReferences,
    deque_use: Cell<DequeUse>,
    /// Thieves may have taken jobs before this position that belong to none of this worker's waits.
    foreign_until: Cell<Position>,
    open_scopes: OpenScopes,
    /// Whether this worker is in a job of an isolated scope whose rest it runs when the job ends.
    pub(crate) runs_rest: Cell<bool>,
    /// Neither `Send` nor `Sync`.
    thread: PhantomData<*const ()>,
}

/// What a worker begins with, whatever its platform.
#[repr(C)]
struct Head {
    platform: TypeId,
    index: WorkerIndex,
}

/// Returns the index that a worker has in its pool, whatever its platform is.
///
/// # Safety
/// 1. `worker` is null or leads to a living worker of any platform.
#[cfg(any(test, feature = "trace"))]
pub unsafe fn index_of(worker: *const ()) -> Option<WorkerIndex> {
    // SAFETY: by obligation 1 a worker, and every worker begins with a head.
    unsafe { worker.cast::<Head>().as_ref() }.map(|head| head.index)
}

impl<P: Platform> WorkerThread<P> {
    /// Makes this thread a worker of a pool, until the value is dropped. Returns `None` if the pool
    /// has that worker already.
    ///
    /// [`enter`](Self::enter) makes it known.
    ///
    /// # Safety
    /// 1. The registry outlives the value and stays in place: nothing moves or replaces it.
    /// 2. The pointer is one that [`Platform::keep_alive`] can use. One made from a reference to
    ///    the registry is not, if keeping alive needs memory beside the registry.
    pub unsafe fn new(registry: *const Registry<P>, index: WorkerIndex) -> Option<Self> {
        const {
            assert!(offset_of!(Self, platform) == offset_of!(Head, platform));
            assert!(offset_of!(Self, index) == offset_of!(Head, index));
        }
        // SAFETY: by obligation 1 the registry outlives what we make from it: the handle, and the
        // reference to the shared half. Both end with `self`, and are never given away.
        let pool: &'static Registry<P> = unsafe { &*registry };
        let shared = pool.workers().get(index.get())?;
        let own = Worker::new(&shared.deque).ok()?;
        let managed = Managed::new(pool.progress().register().ok()?);
        let random = XorShift64Star::new(P::random_seed(pool, index));
        Some(Self {
            platform: TypeId::of::<P>(),
            index,
            own,
            random,
            last_source: LastSource::new(),
            fair_looks: FairLooks::new(),
            managed,
            registry,
            shared,
            depth: Cell::new(0),
            begin: Cell::new(Position::NOWHERE),
            may_be_left_out: Cell::new(false),
            watch: Watch::new(),
            kept: KeptReferences::new(),
            deque_use: Cell::new(DequeUse::Any),
            foreign_until: Cell::new(Position::NOWHERE),
            open_scopes: OpenScopes::new(),
            runs_rest: Cell::new(false),
            thread: PhantomData,
        })
    }

    /// Returns the worker that an untyped pointer leads to, or null if it is a worker of another
    /// platform. For platforms that share one variable for such pointers.
    ///
    /// # Safety
    /// 1. `worker` is null or leads to a living worker of any platform.
    pub unsafe fn downcast(worker: *const ()) -> *const Self {
        // SAFETY: by obligation 1 a worker, and every worker begins with a head.
        match unsafe { worker.cast::<Head>().as_ref() } {
            Some(head) if head.platform == TypeId::of::<P>() => worker.cast(),
            _ => ptr::null(),
        }
    }

    /// Registers this as the worker of the current thread.
    ///
    /// # Safety
    /// 1. `self` stays in place until [`leave`](Self::leave).
    pub unsafe fn enter(&self) {
        // SAFETY: obligation 1 is forwarded to our caller.
        unsafe { P::set_current(self) };
        self.begin_lineage();
        self.note_arrival();
        self.observer().observe(Event::Enter, P::now);
    }

    /// Makes the thread cease to be known as a worker.
    pub fn leave(&self) {
        // First, because this may call a handler for deadlocks, which asks for the current pool.
        self.registry().mark_absent(self.index);
        self.leave_counted();
    }

    /// Makes the thread cease to be known as a worker, as [`leave`](Self::leave) does, but the
    /// worker stays counted in the detection of deadlocks until [`Registry::mark_absent`].
    pub fn leave_counted(&self) {
        debug_assert!(
            ptr::eq(P::current(), self),
            "this thread is not this worker"
        );
        self.observer().observe(Event::Leave, P::now);
        no_unwind(|| {
            P::release_thread(self.registry());
            // A handler may have scheduled operations since those of this worker were left to the
            // pool, whose workers may all sleep.
            if self.holds_operations() && self.leave_operations() {
                self.registry().announce_jobs(1);
            }
        });
        // SAFETY: 1. the pointer is null.
        unsafe { P::set_current(ptr::null()) };
    }

    /// Returns the worker that this thread is, if any.
    ///
    /// # Safety
    /// 1. The reference is not used after the worker has left, nor while this thread sleeps in the
    ///    worker's [loop](Self::run_until_stopped): a guest may use the worker then.
    #[inline]
    pub unsafe fn current<'a>() -> Option<&'a Self> {
        // SAFETY: obligation 1 is forwarded to our caller; a platform keeps the pointer valid.
        unsafe { P::current().as_ref() }
    }

    /// Returns the worker's pool.
    #[inline]
    pub fn registry(&self) -> &Registry<P> {
        // SAFETY: by the obligation of `new` it outlives us.
        unsafe { &*self.registry }
    }

    /// Returns a pointer to the worker's pool, for [`Platform::keep_alive`].
    #[inline]
    pub fn registry_pointer(&self) -> *const Registry<P> {
        self.registry
    }

    /// Returns the worker's number in its pool.
    #[inline]
    pub fn index(&self) -> WorkerIndex {
        self.index
    }

    /// Whether this thread is a guest: it has taken the place of the worker's own thread, which
    /// sleeps.
    pub fn is_guest(&self) -> bool {
        !self.shared().seat.is_hosts()
    }

    /// Returns the registry and the number of a worker, for another thread.
    ///
    /// # Safety
    /// 1. `this` leads to a living worker.
    #[inline]
    pub(crate) unsafe fn address(this: *const Self) -> (*const Registry<P>, WorkerIndex) {
        // SAFETY: by obligation 1. Neither ever changes, and nothing else is touched.
        unsafe { ((*this).registry, (*this).index) }
    }

    /// Returns this worker's parker.
    pub(crate) fn parker(&self) -> &P::Parker {
        self.registry().parker(self.index)
    }

    /// Returns the half of this worker that it shares.
    #[inline]
    pub(crate) fn shared(&self) -> &WorkerShared<P> {
        self.shared
    }

    /// Returns the observer of what this worker does.
    #[inline]
    pub(crate) fn observer(&self) -> &P::Observer {
        self.shared().observer()
    }

    #[inline]
    pub(crate) fn own(&self) -> &Worker<&'static Deque<JobRef, P::Storage>> {
        &self.own
    }

    /// Returns the jobs that this worker spawned to be run in their order.
    pub fn fifo(&self) -> &JobFifo<P> {
        &self.shared().fifo
    }

    /// Runs jobs until the pool ends, and then those that are still queued.
    ///
    /// # Safety
    /// 1. As for [`run_until_stopped`](Self::run_until_stopped).
    pub unsafe fn run_until_terminated(&self) {
        // SAFETY: obligation 1 is forwarded to our caller.
        unsafe { self.run_until_stopped() };
        while self.yield_now() {}
    }

    /// Unregisters this worker because its thread ends, perhaps in the middle of jobs whose frames
    /// stay, as in a call of `exit`. Runs nothing, and leaves to the other workers what they can
    /// take.
    ///
    /// Such frames, and latches that other threads set, may still point to this worker: so the
    /// caller keeps it in place for good, and its registry too.
    pub fn abandon(&self) {
        self.notify_leftovers();
        self.leave();
    }

    /// Forgets that this worker was requested to stop, by [`Registry::request_stop`] or because the
    /// pool ends. Returns false if the pool has ended. Everything that happened before the request
    /// is visible.
    ///
    /// To be called before each [`run_until_stopped`](Self::run_until_stopped). A guest forgets
    /// nothing: the request is for the worker's own thread, which sleeps.
    #[doc(alias = "renew")]
    pub fn reset_stop(&self) -> bool {
        let latch = &self.shared().terminate;
        // Only a request is undone. The latch of a worker that sleeps says so to the next request,
        // which wakes the worker. A request that is not visible yet stays, and the next
        // wait ends at once.
        if !self.is_guest() && latch.probe() {
            latch.reset();
        }
        // A pool that ends gives up its last reference before it requests its workers to stop. If
        // the request came before the reset, we see that the pool has ended; if it comes after the
        // reset, the latch says so.
        self.registry().has_references()
    }
}

/// As for its [`Registry`].
impl<P: Platform> RefUnwindSafe for WorkerThread<P> {}

impl<P: Platform> fmt::Debug for WorkerThread<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkerThread")
            .field("index", &self.index.get())
            .field("pending", &self.own.len())
            .finish()
    }
}
