//! Which workers may be awake: what a large pool's searches need not look at.

use crate::{
    index::{WorkerIndex, circle},
    protocol::SleepProtocol,
};

/// A protocol that may know which workers sleep, so that others skip their queues.
///
/// A protocol that does not know implements the trait without a method: `impl AwakeSet for Spinning
/// {}`.
///
/// # What a protocol promises
/// `any_awake` leaves out only workers that are registered as sleepers or withdraw a registration.
/// Let a worker *S* register, execute a sequentially consistent fence, and call `any_awake`, which
/// leaves out a worker *O*. If *O* later leaves its registration and executes such a fence, its
/// `all_are_awake` is false while *S* is registered. So it must announce a job that it may leave to
/// others. The same holds if *S* leaves its search by `work_found` instead of registering: its call
/// comes after such a fence too, and a worker whose fence came before is not left out.
///
/// No memory safety may rest on this promise. The check `check_awake_set` of the module `testing`
/// finds a worker that is left out while it has jobs.
///
/// # Examples
/// ```
/// use sleep_core::{AwakeSet, IdlePolicy, Inline, Jec, Parker, SleepProtocol, Slot};
/// # struct Core;
/// # impl Parker for Core {
/// #     fn park(&self) {}
/// #     fn unpark(&self) {}
/// # }
///
/// static SLEEP: Jec<Inline<Slot<Core>, 2>> =
///     Jec::from_array([const { Slot::new(Core) }; 2], IdlePolicy::DEFAULT);
///
/// // No worker sleeps: the search looks at each worker's queue, until one has a job.
/// let mut seen = 0;
/// assert!(!SLEEP.any_awake(None, 0, |_worker| {
///     seen += 1;
///     false
/// }));
/// assert_eq!(seen, 2);
/// ```
pub trait AwakeSet: SleepProtocol {
    /// Calls `holds` for the workers that may be awake, at most once for each, until it returns
    /// true. Returns whether it did. `first` is a hint where to begin.
    ///
    /// This is for looking at the workers' own queues. A worker that is registered as a sleeper has
    /// emptied its queue before, so a protocol may leave it out, and in a large pool in which most
    /// workers sleep, few queues are looked at. The pool ensures the rest: a worker that was
    /// registered announces the next job that it queues, after a fence, unless all workers are
    /// awake.
    ///
    /// `caller` is the calling worker, which is not registered as a sleeper, and is skipped. It is
    /// `None` in `has_work` of [`no_work_found`](SleepProtocol::no_work_found) and of
    /// [`give_back`](crate::LendSeats::give_back), and on threads that are not workers.
    ///
    /// By default no other worker is left out.
    #[inline]
    fn any_awake(
        &self,
        caller: Option<WorkerIndex>,
        first: usize,
        mut holds: impl FnMut(WorkerIndex) -> bool,
    ) -> bool {
        let count = self.num_workers();
        circle(first, count)
            .filter_map(|index| WorkerIndex::new(index, count).ok())
            .any(|worker| Some(worker) != caller && holds(worker))
    }
}
