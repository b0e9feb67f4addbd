//! Futures that the workers of a pool poll, with a handle to the result.

use std::{
    cell::{Cell, UnsafeCell},
    mem::ManuallyDrop,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    pin::Pin,
    ptr,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
};

use pool_core::{Job, JobHeader, JobRef, PollDuties, PollState};

use super::{
    JoinHandle, ScopedJoinHandle,
    spawned::while_referenced,
    task::{AnyTask, Task, TaskResult as _},
    waiter::Waiter,
};
use crate::{
    api::{
        isolate::Inherited,
        spawn::{NO_NODE, current_worker_for_detached, post_or_inject},
    },
    fork,
    job_context::Context as JobContext,
    panics::Panic,
    platform::{Registry, WorkerThread},
    sync::{Mutex, lock},
    thread_pool::{current::pool_with_job_reference, discard::Discard},
    worker::current_worker_of,
};

/// Spawns a future on the current pool, whose workers poll it, and returns a handle to its result.
///
/// A worker polls the future once, and again each time it is woken. Between polls the future takes
/// no worker time. There is no runtime: the future may await things that wake it by themselves,
/// such as handles, channels, and timers that have their own thread. A timer or a socket of another
/// runtime must be created in that runtime, and works while that runtime runs. For example,
/// `tokio::time::sleep` panics on a worker outside the scope of a guard of tokio's `Handle::enter`.
///
/// The handle is the same as that of [`spawn_handle`](crate::spawn_handle()), with these
/// differences:
/// - [`abort`](ScopedJoinHandle::abort) drops a future that has not completed, between polls, on a
///   worker. A poll that has started runs to its end; if it is the last one, its result is dropped,
///   and a panic goes to the pool's [handler](crate::ThreadPoolBuilder::panic_handler).
/// - A worker that waits for the future polls it each time it is woken, even in an
///   [isolated](crate::isolate) call, whether it [joins](ScopedJoinHandle::join) the handle or
///   awaits it. In such a call the worker polls only futures that it waits for in this way: also
///   those that they await by their handles, but not one that sends what they receive by a channel.
///   It polls them when it begins to wait, too, if they were polled outside such calls before.
///
/// A future counts as a spawned job until it has completed: a dropped pool continues until then,
/// and a shutdown waits for it. A pool that [discards](crate::ThreadPool::shutdown_now) its jobs
/// drops a future when it is woken.
///
/// # Examples
/// ```
/// let left = pool_std::spawn_handle(|| 1 + 2);
/// let sum = pool_std::spawn_future(async { left.await.map(|left| left + 4) });
/// assert_eq!(sum.join().unwrap().unwrap(), 7);
/// ```
pub fn spawn_future<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    spawn_future_on(pool_with_job_reference(), future)
}

/// Spawns a future as [`spawn_future`] does, on a pool. The caller must have added a reference to
/// the pool for the future.
pub(crate) fn spawn_future_on<F>(registry: Arc<Registry>, future: F) -> JoinHandle<F::Output>
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    let pool = Arc::as_ptr(&registry);
    let polled = Arc::new(Polled {
        header: JobHeader::new::<Polled<F>>(),
        state: PollState::new(),
        isolation: Inherited::by_job_of(&registry),
        registry,
        future: UnsafeCell::new(Some((future, JobContext::current()))),
        task: Cell::new(ptr::null_mut()),
        joiner: Mutex::new(None),
    });
    let task: *mut FutureTask<F> = Task::create(polled, ());
    // SAFETY: 1. it was made for this handle and the future, just now; 2. by our bounds.
    let handle = unsafe { ScopedJoinHandle::new(task, pool) };
    // SAFETY: the task lives at least as long as the handle, and the pool with it.
    let polled = unsafe { &(*task).kind };
    // No other thread has the future yet.
    polled.task.set(task);
    polled.push();
    handle
}

/// Whether this thread is a worker of this pool, in an isolated job. Then the handles that a future
/// awaits [run their jobs](ScopedJoinHandle::help_isolated) in its poll.
fn is_in_isolated_job_of(registry: &Registry) -> bool {
    current_worker_of(registry).is_some_and(WorkerThread::is_isolated)
}

/// The task of a future's handle. It has no closure: the thread that claims it gets the right to
/// set the result.
type FutureTask<F> = Task<Arc<Polled<F>>, (), <F as Future>::Output>;

/// A future that the workers of a pool poll. It is owned by its wakers, by the references in the
/// pool's queues, and by the task of its handle.
#[repr(C)]
struct Polled<F: Future> {
    header: JobHeader,
    state: PollState,
    /// The pool, to which this has a reference until the future has ended.
    registry: Arc<Registry>,
    isolation: Inherited,
    /// The future, and the context of the thread that has spawned it. None when the future has
    /// ended. Only for the thread that polls, as [`PollState`] says.
    future: UnsafeCell<Option<(F, JobContext)>>,
    /// The task lives by the queue's reference to it, which this owns until the future has ended.
    /// Only for the thread that polls, too.
    task: Cell<*mut FutureTask<F>>,
    /// Of a worker that waits for the future and takes nothing from the pool's queues. It is
    /// notified when the future is due, and when it has ended. The state says when to look here.
    joiner: Mutex<Option<Waiter>>,
}

// SAFETY: one thread at a time uses the future and the task, which may move from thread to thread.
// The state says which thread. The future and its result are `Send`.
unsafe impl<F: Future<Output: Send> + Send> Send for Polled<F> {}
// SAFETY: as above.
unsafe impl<F: Future<Output: Send> + Send> Sync for Polled<F> {}

impl<F> Polled<F>
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    /// Queues the future for the workers.
    fn push(self: &Arc<Self>) {
        let worker = current_worker_for_detached(&self.registry);
        // SAFETY: `reference`: 1. it is queued. `post_or_inject`: 1. the reference is used only for
        // this.
        unsafe { post_or_inject(worker, &self.registry, self.clone().reference()) };
    }

    /// Queues the future behind other jobs, for the worker that has just polled it: the future has
    /// woken itself, and other jobs should run first.
    fn queue_last(self: Arc<Self>) {
        let registry = Arc::as_ptr(&self.registry);
        // SAFETY: the registry lives, because this thread is a worker of the pool.
        let registry = unsafe { &*registry };
        let worker = current_worker_for_detached(registry);
        match worker.filter(|worker| worker.is_in_job_at_top_level()) {
            // SAFETY: `reference`: 1. it is queued. `post_last`: 1. the reference is used only for
            // this.
            Some(worker) => unsafe { worker.post_last(self.reference()) },
            // Otherwise the worker may be in a wait, which takes its own jobs before those of other
            // sources.
            //
            // SAFETY: `reference`: 1. it is queued. `inject`: 1. the queue needs no node.
            None => unsafe { registry.inject(NO_NODE, self.reference()) },
        }
    }

    /// Notifies the worker that waits for the future, if the state says so.
    fn notify_joiner(&self, duties: PollDuties) {
        if !duties.tell {
            return;
        }
        // The lock ends here: a waker is code of the user, and may poll the handle.
        let waiter = lock(&self.joiner).take();
        if let Some(waiter) = waiter {
            let handlers = &self.registry.data().handlers;
            handlers.run_and_handle_panic("a waker", || waiter.wake());
        }
    }

    /// Returns a reference for a queue.
    ///
    /// # Safety
    /// 1. It is executed once.
    unsafe fn reference(self: Arc<Self>) -> JobRef {
        // SAFETY: `JobRef::new`: 1. the reference owns the value; 2. it is `Send`.
        unsafe { JobRef::new(Arc::into_raw(self)) }
    }

    /// Polls the future, on the thread that has begun a poll.
    fn poll(self: Arc<Self>) {
        // SAFETY: the task lives by the reference of the future, which has not ended.
        let task = unsafe { &*self.task.get() };
        if self.registry.data().discard.is_on() {
            Discard::drop_job(&self.registry, || Task::abort(task));
        }
        if task.state().is_claimed() {
            self.finish(None);
            return;
        }
        // SAFETY: the waker is borrowed for the poll, and is not dropped, so it need not be counted
        // among the owners. Clones of it are counted.
        let waker = ManuallyDrop::new(Waker::from(unsafe { ptr::read(&raw const self) }));
        let mut context = Context::from_waker(&waker);
        // SAFETY: this thread polls, so it has exclusive access to the future.
        let future = unsafe { (*self.future.get()).as_mut() };
        let (future, job_context) = future.expect("it has not ended");
        // SAFETY: the future is in an `Arc`, and is dropped in place.
        let future = unsafe { Pin::new_unchecked(future) };
        let mut is_isolated = false;
        let poll = || {
            is_isolated = is_in_isolated_job_of(&self.registry);
            future.poll(&mut context)
        };
        let poll = || job_context.clone().run(poll);
        let poll = || self.isolation.run(poll);
        match catch_unwind(AssertUnwindSafe(poll)) {
            Ok(Poll::Pending) => {
                let duties = if is_isolated {
                    self.state.end_isolated()
                } else {
                    self.state.end()
                };
                self.notify_joiner(duties);
                if duties.queue {
                    self.queue_last();
                }
            }
            Ok(Poll::Ready(result)) => self.finish(Some(Ok(result))),
            Err(panic) => self.finish(Some(Err(panic))),
        }
    }

    /// Drops the future, and gives its result to the owner of the handle. `result` is `None` if
    /// that owner has aborted the future. If the owner aborts it now, a panic goes to the pool's
    /// handler.
    fn finish(&self, mut result: Option<Result<F::Output, Panic>>) {
        let handlers = &self.registry.data().handlers;
        handlers.run_and_handle_panic("the drop of a spawned future", || {
            // This access is exclusive, as in `poll`. A future may borrow from itself. A shared
            // reference to all of it would invalidate its exclusive borrows, which its drop may
            // use.
            //
            // SAFETY: this thread polls, and ends the poll below; the reference is no longer used
            // then.
            let future = unsafe { (*self.future.get()).as_mut() };
            let (_, job_context) = future.expect("it has not ended");
            let job_context = job_context.clone();
            // SAFETY: as above.
            job_context.run(|| unsafe { *self.future.get() = None });
        });
        // Code that follows jobs, such as a subscriber of `tracing`, may have panicked before, also
        // while its span was cloned. The future may own a waker, which would keep the future alive
        // forever.
        handlers.run_and_handle_panic("the drop of a spawned future", || {
            // SAFETY: as above.
            unsafe { *self.future.get() = None };
        });
        let task = self.task.get();
        // SAFETY: 1. the task lives, and the state makes this the only call.
        let ended = unsafe {
            Task::run(task, |()| {
                let result = result.take();
                let result = result.expect("the thread that aborts it has claimed it");
                result.unwrap_or_else(|panic| resume_unwind(panic))
            })
        };
        handlers.handle_panic("a spawned future", ended);
        if let Some(unwanted) = result {
            handlers.run_and_handle_panic("an aborted future", || {
                drop(unwanted.unwrap_or_else(|panic| resume_unwind(panic)));
            });
        }
        self.notify_joiner(self.state.finish());
        self.registry.remove_reference_of_job();
    }
}

// SAFETY: 1. the header comes first; `spawn_future_on` makes it for this type.
unsafe impl<F> Job for Polled<F>
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    unsafe fn execute(this: *const ()) {
        // SAFETY: by obligations 1 and 2 this is the pointer of `reference`, used once.
        let polled = unsafe { Arc::from_raw(this.cast::<Self>()) };
        if polled.state.begin_queued() {
            polled.poll();
        }
    }
}

impl<F> Wake for Polled<F>
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // In a child of `fork`, no worker would poll the future.
        if !fork::is_own_process(&self.registry) {
            return;
        }
        let duties = self.state.wake();
        // The pool must not end before the reference is in its queue, although a worker that joins
        // the future may meanwhile poll it to its end. If the pool has ended, so has the future,
        // because it had a reference to the pool.
        if duties.queue && self.registry.try_add_reference_of_job() {
            self.push();
            self.registry.remove_reference_of_job();
        }
        self.notify_joiner(duties);
    }
}

impl<F> AnyTask<F::Output> for FutureTask<F>
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    fn is_run_at_once(&self) -> bool {
        // Any thread may wake the future.
        false
    }

    fn notify_when_due(&self, waiter: Waiter) -> bool {
        let polled = &self.kind;
        // Waiters are dropped without the lock: a waker is code of the user.
        let previous = lock(&polled.joiner).replace(waiter);
        drop(previous);
        let waits = polled.state.wait_for_change();
        if !waits {
            let unused = lock(&polled.joiner).take();
            drop(unused);
        }
        waits
    }

    fn run_here(&self, registry: &Registry) {
        while_referenced(registry, || {
            let state = &self.kind.state;
            let has_begun = if is_in_isolated_job_of(registry) {
                state.begin_isolated()
            } else {
                state.begin()
            };
            if has_begun {
                self.kind.clone().poll();
            }
        });
    }

    fn abort(&self) -> bool {
        // A worker drops the future, in its next poll.
        let polled = self.kind.clone();
        let aborted = catch_unwind(AssertUnwindSafe(|| self.abort()));
        polled.wake_by_ref();
        aborted.unwrap_or_else(|panic| resume_unwind(panic))
    }
}
