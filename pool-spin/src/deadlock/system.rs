//! Pools that detect deadlocks.

use pool_core::{
    IdlePolicy, Jec, Slot,
    accounting::{Accounting, RawMutex, Report, WorkerEntry},
};

use crate::{
    machine::{CoreParker as _, Machine},
    pool::{Cores, DefaultProtocol, Protocol, SpinPool, System},
};

/// A [`System`] as [`Cores`], for pools that detect deadlocks.
///
/// `L` is the lock of the accounting: [`InterruptLock`](crate::InterruptLock) with the machine's
/// interrupts, so that interrupt handlers may unblock workers. The other parameters are those of
/// `Cores`.
///
/// # Examples
/// See the [module](super).
pub type DetectingCores<
    M,
    L,
    const CORES: usize,
    const JOBS: usize,
    K = DefaultProtocol<M, CORES>,
> = Cores<M, CORES, JOBS, K, CoreAccounting<L, CORES>>;

/// The state that a pool of `CORES` workers that detects deadlocks keeps about them.
pub type CoreAccounting<L, const CORES: usize> = Accounting<L, [WorkerEntry; CORES], Handler>;

/// The handler of a deadlock.
type Handler = fn(&Report<'_>);

/// A [`System`] that detects deadlocks: [`DetectingCores`], for functions that work for pools of
/// any size.
///
/// # Examples
/// ```
/// use pool_spin::{Worker, deadlock::{Completion, DetectsDeadlocks}};
///
/// /// Starts a transfer and waits until it is complete.
/// fn transfer<S: DetectsDeadlocks>(core: Worker<S>, done: &Completion<S>) {
///     // ... tells the device to begin ...
///     core.wait_for(done).expect("one transfer at a time");
/// }
/// ```
pub trait DetectsDeadlocks:
    System<
    Deadlock = Accounting<
        <Self as DetectsDeadlocks>::Lock,
        <Self as System>::PerCore<WorkerEntry>,
        Handler,
    >,
>
{
    /// The lock of the accounting.
    type Lock: RawMutex + Send + Sync + 'static;
}

impl<S, L> DetectsDeadlocks for S
where
    S: System<Deadlock = Accounting<L, <S as System>::PerCore<WorkerEntry>, Handler>>,
    L: RawMutex + Send + Sync + 'static,
{
    type Lock = L;
}

impl<M, L, const CORES: usize, const JOBS: usize> SpinPool<DetectingCores<M, L, CORES, JOBS>>
where
    M: Machine,
    L: RawMutex + Send + Sync + 'static,
{
    /// Creates a pool that calls a function when none of its workers can continue.
    ///
    /// The page of the [module](crate::deadlock) says when that is, and what the function may do.
    ///
    /// # Examples
    /// ```
    /// use pool_spin::{SpinPool, deadlock::{DetectingCores, Report}, host::{Host, HostLock}};
    ///
    /// static POOL: SpinPool<DetectingCores<Host, HostLock, 4, 64>> =
    ///     SpinPool::with_deadlock_handler(|report: &Report<'_>| println!("{report}"));
    /// ```
    #[must_use]
    pub const fn with_deadlock_handler(handler: fn(&Report<'_>)) -> Self {
        let slots = [const { Slot::new(M::Parker::NEW) }; CORES];
        Self::with_protocol_and_deadlock_handler(
            Jec::from_array(slots, IdlePolicy::DEFAULT.for_processors(CORES, CORES)),
            handler,
        )
    }
}

impl<M, L, const CORES: usize, const JOBS: usize, K> SpinPool<DetectingCores<M, L, CORES, JOBS, K>>
where
    M: Machine,
    L: RawMutex + Send + Sync + 'static,
    K: Protocol<M::Parker>,
{
    /// Creates a pool as [`with_deadlock_handler`](Self::with_deadlock_handler) does, whose workers
    /// sleep by the given protocol.
    ///
    /// # Examples
    /// ```
    /// use pool_spin::{
    ///     CoreParker, IdlePolicy, Jec, Machine, Slot, SpinPool,
    ///     deadlock::DetectingCores,
    ///     host::{Host, HostLock},
    /// };
    ///
    /// type Parker = <Host as Machine>::Parker;
    ///
    /// // Workers sleep as soon as they find no work.
    /// static POOL: SpinPool<DetectingCores<Host, HostLock, 4, 64>> =
    ///     SpinPool::with_protocol_and_deadlock_handler(
    ///         Jec::from_array([const { Slot::new(Parker::NEW) }; 4], IdlePolicy::IMMEDIATE),
    ///         |report| panic!("{report}"),
    ///     );
    /// ```
    #[must_use]
    pub const fn with_protocol_and_deadlock_handler(sleep: K, handler: fn(&Report<'_>)) -> Self {
        let workers = [const { WorkerEntry::new() }; CORES];
        Self::with_parts(sleep, Accounting::new(workers, handler))
    }
}
