//! Queues of jobs that any thread may push to.

use core::ptr::NonNull;

use deque_core::{IntrusiveInjector, Node, Steal};

use crate::job::JobRef;

/// A first-in first-out queue of jobs for many producers and many consumers.
///
/// # Safety
/// 1. [`steal`](Self::steal) returns only jobs that were pushed to the same queue, which no two
///    pools and no two workers share, and each of them once: a worker runs what it is given as its
///    own.
/// 2. What a thread did before [`push`](Self::push) happens before the return of the `steal` that
///    gives out the job.
/// 3. Once a job was given out, the queue does not touch its node any more.
/// 4. No method unwinds: they are called from frames that other threads use.
///
/// # Examples
/// A queue for platforms with the standard library, whose jobs need no node:
/// ```
/// use std::{collections::VecDeque, ptr::NonNull, sync::Mutex};
///
/// use pool_core::{Job, JobHeader, JobQueue, JobRef, Steal};
///
/// #[derive(Default)]
/// struct Locked(Mutex<VecDeque<JobRef>>);
///
/// // SAFETY: 1. to 3. a job is pushed once and popped once, under the lock, and there are no
/// // nodes. 4. No holder of the lock panics; if memory is short, the process ends.
/// unsafe impl JobQueue for Locked {
///     type Node = ();
///
///     fn node() {}
///
///     unsafe fn push(&self, _node: NonNull<()>, job: JobRef) {
///         self.0.lock().unwrap().push_back(job);
///     }
///
///     fn steal(&self) -> Steal<JobRef> {
///         self.0.lock().unwrap().pop_front().map_or(Steal::Empty, Steal::Success)
///     }
///
///     fn is_empty(&self) -> bool {
///         self.0.lock().unwrap().is_empty()
///     }
/// }
///
/// #[repr(C)]
/// struct Nothing(JobHeader);
///
/// // SAFETY: 1. it begins with its header.
/// unsafe impl Job for Nothing {
///     unsafe fn execute(_this: *const ()) {}
/// }
///
/// let (queue, job) = (Locked::default(), Nothing(JobHeader::new::<Nothing>()));
/// // SAFETY: `push`: 1. a `()` is valid everywhere. `new`: 1. the job lives as long as the queue;
/// // 2. it does nothing.
/// unsafe { queue.push(NonNull::dangling(), JobRef::new(&raw const job)) };
/// assert!(matches!(queue.steal(), Steal::Success(_)) && queue.is_empty());
/// ```
pub unsafe trait JobQueue: Send + Sync {
    /// Memory that each job provides for the queue. A queue with its own memory uses `()`.
    type Node;

    /// Creates a node for a new job.
    fn node() -> Self::Node;

    /// Adds a job at the back.
    ///
    /// # Safety
    /// 1. `node` is valid until the job begins to run, and nothing else uses it until then.
    /// 2. As for [`JobRef::execute`]: no copy of the reference is used elsewhere. A worker that
    ///    takes it from the queue runs it.
    unsafe fn push(&self, node: NonNull<Self::Node>, job: JobRef);

    /// Takes the job at the front.
    fn steal(&self) -> Steal<JobRef>;

    /// Whether there was no job at some moment during the call.
    fn is_empty(&self) -> bool;

    /// Returns about how many jobs there are, or `None` if the queue would have to go through them.
    fn len(&self) -> Option<usize> {
        None
    }
}

/// The queue of pools without an allocator, whose jobs bring the nodes.
///
/// The [injector](IntrusiveInjector) within is no such queue itself. Its own methods are safe: a
/// job of it could be copied, and pushed once more. So this does not compile:
/// ```compile_fail,E0277
/// use pool_core::{JobQueue, JobRef};
///
/// fn is_queue<Q: JobQueue>() {}
/// is_queue::<deque_core::IntrusiveInjector<'static, Option<JobRef>>>();
/// ```
///
/// # Examples
/// ```
/// use pool_core::{JobInjector, JobQueue, Steal};
///
/// static QUEUE: JobInjector = JobInjector::new();
/// assert!(QUEUE.is_empty() && matches!(QUEUE.steal(), Steal::Empty));
/// ```
#[derive(Debug, Default)]
pub struct JobInjector(IntrusiveInjector<'static, Option<JobRef>>);

impl JobInjector {
    const_unless_loom! {
        /// Creates an empty queue.
        #[must_use]
        pub fn new() -> Self {
            Self(IntrusiveInjector::new())
        }
    }
}

// SAFETY: 1. to 3. are the injector's promises to callers of `push_raw` and `steal_raw`, and no
// other code has access to it; 4. neither panics, and each node has a job, by `push`.
unsafe impl JobQueue for JobInjector {
    type Node = Node<Option<JobRef>>;

    fn node() -> Self::Node {
        Node::new(None)
    }

    unsafe fn push(&self, mut node: NonNull<Self::Node>, job: JobRef) {
        // SAFETY: by obligation 1 nothing else uses the node.
        *unsafe { node.as_mut() }.value_mut() = Some(job);
        // SAFETY: 1. and 2. by obligation 1, since a job begins to run only after its steal; 3.
        // this module uses `steal_raw`.
        unsafe { self.0.push_raw(node) };
    }

    fn steal(&self) -> Steal<JobRef> {
        self.0.steal_raw().map(|node| {
            // SAFETY: by the obligation of `push` the node is valid until the job runs, and only
            // the copy that we take here lets a worker run it.
            unsafe { node.as_ref() }.value().expect("set by push")
        })
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
