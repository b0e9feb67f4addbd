//! Schedules of threads of one's own.

use std::{boxed::Box, string::String, sync::Arc, vec::Vec};

use super::schedule::{Actor, Bounds, Script, Switch, explore};

/// Runs threads one at a time, in every order with few preemptions, and reports a lost wake-up.
///
/// Intended for the loop of a pool, with its own queues. The protocol is
/// [`LastLook`](super::LastLook), or the pool's own on
/// [`ScheduledParker`](super::ScheduledParker)s. Another thread may run at each call of a parker,
/// at each fence of the protocol, whenever a latch is read or changed, in each spin loop of this
/// crate, and at each [`point`]. In particular another thread may post right before a worker
/// registers as a sleeper, between its last look and its park, and in its park.
///
/// Every thread sees the others' writes at once. So a missing fence goes unnoticed, for example
/// that of a job from outside that is announced as [internal](crate::Origin::Internal).
///
/// A thread that waits must wait by a parker, a protocol, or a [`point`] in a loop. A parker is
/// best, because the check then knows at once when no thread can continue. A thread that holds a
/// lock which another thread takes must not reach such a point; the check reports that after a
/// minute.
///
/// # Examples
/// ```
/// use sleep_core::{
///     NewJobs, Parker, Purpose, SleepProtocol, StopLatch,
///     testing::{LastLook, ScheduledParker, Schedules},
/// };
/// use std::sync::atomic::{AtomicUsize, Ordering};
///
/// /// The pool under test: one worker, and two queues, which are numbers here.
/// struct Pool {
///     sleep: LastLook,
///     stop: [StopLatch; 1],
///     queues: [AtomicUsize; 2],
///     done: ScheduledParker,
/// }
///
/// impl Pool {
///     fn new() -> Self {
///         Self {
///             sleep: LastLook::new(1),
///             stop: [StopLatch::new()],
///             queues: [const { AtomicUsize::new(0) }; 2],
///             done: ScheduledParker::new(),
///         }
///     }
///     fn has_work(&self) -> bool {
///         // If this left the second queue out, the check would fail.
///         self.queues.iter().any(|queue| queue.load(Ordering::Relaxed) > 0)
///     }
///     fn take(&self) -> bool {
///         self.queues.iter().any(|queue| {
///             let jobs = queue.load(Ordering::Relaxed);
///             if jobs > 0 {
///                 queue.store(jobs - 1, Ordering::Relaxed);
///             }
///             jobs > 0
///         })
///     }
///     fn work(&self) {
///         let mut idle = self.sleep.start_looking(self.sleep.worker(0).unwrap(), Purpose::Job);
///         while !self.stop[0].probe() {
///             if self.take() {
///                 self.sleep.work_found(idle, || self.has_work());
///                 self.done.unpark();
///                 idle = self.sleep.start_looking(self.sleep.worker(0).unwrap(), Purpose::Job);
///             } else {
///                 self.sleep.no_work_found(&mut idle, self.stop[0].latch(), || self.has_work());
///             }
///         }
///         self.sleep.work_found(idle, || self.has_work());
///     }
///     fn post(&self) {
///         self.queues[1].fetch_add(1, Ordering::Relaxed);
///         self.sleep.announce(NewJobs::injected(1, true));
///         self.done.park();
///         StopLatch::set_all(&self.stop, &self.sleep);
///     }
/// }
///
/// Schedules::new(Pool::new)
///     .thread("worker", Pool::work)
///     .thread("poster", Pool::post)
///     .check();
/// ```
pub struct Schedules<T> {
    make: Box<dyn Fn() -> T>,
    threads: Vec<(&'static str, Script<T>)>,
    bounds: Bounds,
}

impl<T: Send + Sync + 'static> Schedules<T> {
    /// Creates a check without threads. `make` creates what they share, anew for each order.
    #[must_use]
    pub fn new(make: impl Fn() -> T + 'static) -> Self {
        Self {
            make: Box::new(make),
            threads: Vec::new(),
            bounds: Bounds {
                preemptions: 2,
                spurious: 0,
            },
        }
    }

    /// Adds a thread. It must do the same whenever it is run in the same order.
    #[must_use]
    pub fn thread(mut self, name: &'static str, run: impl Fn(&T) + Send + Sync + 'static) -> Self {
        self.threads.push((name, Arc::new(run)));
        self
    }

    /// Sets how often threads that could continue may be interrupted, by default 2. Most mistakes
    /// need one or two.
    ///
    /// Begin with 1. Each additional one multiplies the number of orders by the number of points
    /// that the threads pass: with three workers, a poster and two jobs, 1 takes a minute, and 2
    /// takes hours. Two workers and one job find as much, in seconds.
    #[must_use]
    pub const fn preemptions(mut self, preemptions: usize) -> Self {
        self.bounds.preemptions = preemptions;
        self
    }

    /// Sets the number of parks that return without a token, by default 0.
    #[must_use]
    pub const fn spurious_wake_ups(mut self, count: usize) -> Self {
        self.bounds.spurious = count;
        self
    }

    /// Runs the threads in every order.
    ///
    /// # Panics
    /// If no thread can continue and not all have ended, if a thread panics, or if the threads run
    /// forever. The message contains the order, which is the same in each run.
    pub fn check(&self) {
        assert!(!self.threads.is_empty(), "there is no thread to run");
        let no_more: &dyn Fn(&T) -> Result<(), String> = &|_| Ok(());
        explore("schedules", self.bounds, &self.make, &self.threads, no_more);
    }
}

impl<T> core::fmt::Debug for Schedules<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let names: Vec<_> = self.threads.iter().map(|(name, _)| name).collect();
        f.debug_struct("Schedules")
            .field("threads", &names)
            .field("bounds", &self.bounds)
            .finish_non_exhaustive()
    }
}

/// Lets a check run another thread here. `what` is the line of this step in the schedule that a
/// failure shows. Does nothing on a thread that no check runs.
///
/// # Examples
/// ```
/// use sleep_core::testing::{Schedules, point};
/// use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
///
/// Schedules::new(|| AtomicBool::new(false))
///     .thread("poster", |is_set| is_set.store(true, Relaxed))
///     .thread("waiter", |is_set| {
///         while !is_set.load(Relaxed) {
///             point("waits for the poster");
///         }
///     })
///     .check();
/// ```
pub fn point(what: &'static str) {
    Actor::with_current(|actor| actor.reach(Switch::Point, what));
}
