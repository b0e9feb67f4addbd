#![doc = include_str!("busy/README.md")]

use core::fmt;

use crate::{
    index::WorkerIndex,
    latch::CoreLatch,
    parker::Parker,
    policy::{IdlePolicy, Purpose, Relax},
    primitive::{AtomicUsize, Ordering},
    protocol::{AwakeSet, LendSeats, NewJobs, SleepProtocol},
};

/// A sleep protocol whose workers never sleep. They relax between two searches, as the policy says.
///
/// `S` is where the workers' parkers are stored: anything that is `AsRef<[P]>`. A parker is never
/// parked; it only relaxes.
///
/// # Examples
/// ```
/// use sleep_core::{Busy, IdlePolicy, Parker, SleepProtocol};
///
/// struct Core;
/// impl Parker for Core {
///     fn park(&self) { unreachable!("a busy worker never parks") }
///     fn unpark(&self) {}
/// }
///
/// static SLEEP: Busy<Core, [Core; 2]> = Busy::from_array([Core, Core], IdlePolicy::DEFAULT);
/// assert!(SLEEP.worker(1).is_ok());
/// assert!(SLEEP.all_are_awake());
/// ```
pub struct Busy<P, S = &'static [P]> {
    inactive: AtomicUsize,
    relax: Relax,
    parkers: S,
    parker: core::marker::PhantomData<fn() -> P>,
}

impl<P, const N: usize> Busy<P, [P; N]> {
    const_unless_loom! {
        /// Creates the protocol for workers whose parkers are stored in the value itself.
        #[must_use]
        pub fn from_array(parkers: [P; N], policy: IdlePolicy) -> Self {
            Self {
                inactive: AtomicUsize::new(0),
                relax: policy.relax(),
                parkers,
                parker: core::marker::PhantomData,
            }
        }
    }
}

impl<P: Parker, S: AsRef<[P]>> Busy<P, S> {
    /// Creates the protocol for workers whose parkers are stored wherever the pool puts them.
    pub fn new(parkers: S, policy: IdlePolicy) -> Self {
        Self {
            inactive: AtomicUsize::new(0),
            relax: policy.relax(),
            parkers,
            parker: core::marker::PhantomData,
        }
    }
}

impl<P: Parker, S: AsRef<[P]>> SleepProtocol for Busy<P, S> {
    type Parker = P;
    type IdleState = WorkerIndex;
    type Hint = ();

    fn num_workers(&self) -> usize {
        self.parkers.as_ref().len()
    }

    fn parker(&self, worker: WorkerIndex) -> &P {
        &self.parkers.as_ref()[worker.get()]
    }

    fn start_looking(&self, worker: WorkerIndex, _purpose: Purpose) -> WorkerIndex {
        // Ordering: Relaxed, a plain count; no decision rests on it.
        let before = self.inactive.fetch_add(1, Ordering::Relaxed);
        debug_assert!(
            before < self.num_workers(),
            "more searches than workers: an idle state was not given to `work_found`"
        );
        worker
    }

    /// Relaxes. Liveness: the worker searches all sources again and looks at its latch; there is no
    /// sleep in which it could miss either.
    fn no_work_found(
        &self,
        idle: &mut WorkerIndex,
        _latch: &CoreLatch,
        _has_work: impl FnOnce() -> bool,
    ) {
        self.relax.relax(self.parker(*idle));
    }

    fn work_found(&self, _idle: WorkerIndex, _more_work: impl FnOnce() -> bool) {
        // Ordering: Relaxed, as in `start_looking`.
        let before = self.inactive.fetch_sub(1, Ordering::Relaxed);
        debug_assert!(before > 0, "more searches end than have begun");
    }

    fn announce(&self, _jobs: NewJobs<impl FnOnce() -> bool>) {}

    fn announce_for(&self, _workers: impl IntoIterator<Item = WorkerIndex>) {}

    #[inline]
    fn all_are_awake(&self) -> bool {
        true
    }

    fn wake_worker(&self, _worker: WorkerIndex) -> bool {
        false
    }

    fn num_inactive(&self) -> usize {
        // Ordering: Relaxed; debug output only.
        self.inactive.load(Ordering::Relaxed)
    }

    fn num_sleeping(&self) -> usize {
        0
    }
}

/// No worker sleeps, so there is no seat to lend.
impl<P: Parker, S: AsRef<[P]>> LendSeats for Busy<P, S> {}

/// All workers are awake.
impl<P: Parker, S: AsRef<[P]>> AwakeSet for Busy<P, S> {}

impl<P, S> fmt::Debug for Busy<P, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Busy")
            // Ordering: Relaxed; debug output only.
            .field("inactive", &self.inactive.load(Ordering::Relaxed))
            .field("relax", &self.relax)
            .finish_non_exhaustive()
    }
}
