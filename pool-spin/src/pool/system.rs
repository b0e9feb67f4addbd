//! The type parameter of a pool: a machine, the number of workers, and the room for jobs.

use core::{array, convert::Infallible, marker::PhantomData};

use pool_core::{
    AwakeSet, DeadlockDetection, Deque, Inline, Jec, JobInjector, LendSeats, NoDeadlockDetection,
    Order, Platform, PoolProgress, SleepProtocol, Slot as SleepSlot, WorkerShared,
    progress::{Participant, Progress},
};

#[cfg(feature = "trace")]
use super::observer::WorkerTracer;
use super::{
    arena::{Arena, Slot},
    lifecycle::{Gate, Lifecycle},
    observer::new_observer,
    overflow::Overflow,
    platform::{PoolData, SpinWaiter},
};
use crate::{
    machine::{CoreParker as _, Machine},
    primitive::AtomicBool,
};

/// The type parameter of [`SpinPool`](crate::SpinPool), [`Worker`](crate::Worker),
/// [`Scope`](crate::Scope) and [`Task`](crate::Task): a machine and the size of a pool.
///
/// [`Cores`] is the only implementation; `DetectingCores`, of the feature `deadlock`, is a name for
/// some of its types. A program names it once, with a type alias. Functions that work for pools of
/// any size take `S: System`. Other crates cannot implement it, because they cannot name what the
/// platform keeps with the pool.
///
/// # Examples
/// ```
/// use pool_spin::{System, Worker};
///
/// /// Sums a slice on the cores of any pool.
/// fn sum<S: System>(core: Worker<S>, values: &[u32]) -> u32 {
///     if values.len() <= 64 {
///         return values.iter().sum();
///     }
///     let (left, right) = values.split_at(values.len() / 2);
///     let (a, b) = core.join(|core| sum(core, left), |core| sum(core, right));
///     a + b
/// }
/// ```
pub trait System:
    Platform<
        Parker = <<Self as System>::Machine as Machine>::Parker,
        Queue = JobInjector,
        Waiter = SpinWaiter<<Self as System>::Machine>,
        Panic = Infallible,
        Data = PoolData<Self>,
    >
{
    /// The machine whose cores are the workers.
    type Machine: Machine;
    /// An array of one element per worker.
    type PerCore<T>: AsRef<[T]> + AsMut<[T]> + IntoIterator<Item = T>;

    /// The number of workers.
    const CORES: usize;
    /// The number of queued jobs that each worker has room for.
    const JOBS: usize;

    /// Room for the closures that are spawned and have not begun.
    #[doc(hidden)]
    type Arena: AsRef<[Slot]> + Send + Sync;
    /// The gate of each worker.
    #[doc(hidden)]
    type Gates: AsRef<[Gate]> + Send + Sync;

    /// The tracer in the observer of a worker.
    #[doc(hidden)]
    #[cfg(feature = "trace")]
    fn tracer(observer: &Self::Observer) -> &WorkerTracer<Self::Machine>;

    /// The workers of a new pool, with empty queues.
    #[doc(hidden)]
    const WORKERS: Self::Workers;
    /// The thread progress of a new pool.
    #[doc(hidden)]
    #[allow(clippy::declare_interior_mutable_const)]
    const PROGRESS: PoolProgress<Self>;
    /// The other data of a new pool.
    #[doc(hidden)]
    #[allow(clippy::declare_interior_mutable_const)]
    const DATA: PoolData<Self>;

    /// Creates an array. Each element is the result of the function for a worker's number.
    fn per_core<T>(function: impl FnMut(usize) -> T) -> Self::PerCore<T>;
}

/// A [`System`] of `CORES` workers on a [`Machine`], each with room for `JOBS` queued jobs (a power
/// of two).
///
/// # Examples
/// ```
/// use pool_spin::{Cores, SpinPool, host::Host};
///
/// /// Two cores, with room for 64 queued jobs each.
/// type TwoCores = Cores<Host, 2, 64>;
///
/// static POOL: SpinPool<TwoCores> = SpinPool::new();
/// assert_eq!(POOL.num_workers(), 2);
/// ```
///
/// Workers sleep by the protocol `K`; if it is not the default, it is passed to
/// [`SpinPool::with_protocol`](crate::SpinPool::with_protocol). `D` receives which workers run;
/// with the default that is compiled away.
#[derive(Debug)]
pub struct Cores<
    M: Machine,
    const CORES: usize,
    const JOBS: usize,
    K = DefaultProtocol<M, CORES>,
    D = NoDeadlockDetection,
>(PhantomData<fn() -> (M, K)>, PhantomData<fn() -> D>);

/// The sleep protocol of a pool of `CORES` workers, if the pool names no other.
pub type DefaultProtocol<M, const CORES: usize> =
    Jec<Inline<SleepSlot<<M as Machine>::Parker>, CORES>>;

/// A sleep protocol with parkers of type `P` that a pool can use. Implemented for all of them.
pub trait Protocol<P>:
    SleepProtocol<Parker = P> + LendSeats + AwakeSet + Send + Sync + 'static
{
}

impl<P, K: SleepProtocol<Parker = P> + LendSeats + AwakeSet + Send + Sync + 'static> Protocol<P>
    for K
{
}

/// A receiver that a pool can tell which workers run. Implemented for every detection of deadlocks.
pub trait Detection: DeadlockDetection + 'static {}

impl<D: DeadlockDetection + 'static> Detection for D {}

impl<M: Machine, const CORES: usize, const JOBS: usize, K: Protocol<M::Parker>, D: Detection> System
    for Cores<M, CORES, JOBS, K, D>
{
    type Machine = M;
    type PerCore<T> = [T; CORES];

    const CORES: usize = CORES;
    const JOBS: usize = JOBS;

    type Arena = Arena<JOBS>;
    type Gates = [Gate; CORES];

    const WORKERS: Self::Workers = [const {
        // SAFETY: 1. the deque is new.
        unsafe {
            WorkerShared::new(
                Deque::fixed(Order::Lifo),
                JobInjector::new(),
                JobInjector::new(),
                new_observer(),
            )
        }
    }; CORES];
    const PROGRESS: PoolProgress<Self> =
        Progress::new([const { Participant::new(M::Parker::NEW) }; CORES]);
    const DATA: PoolData<Self> = PoolData {
        lifecycle: Lifecycle::new(),
        gates: [const { Gate::new() }; CORES],
        is_broadcasting: AtomicBool::new(false),
        arena: Arena::new(),
        overflow: Overflow::new(),
    };

    #[cfg(feature = "trace")]
    fn tracer(observer: &Self::Observer) -> &WorkerTracer<M> {
        &observer.1
    }

    fn per_core<T>(function: impl FnMut(usize) -> T) -> [T; CORES] {
        array::from_fn(function)
    }
}
