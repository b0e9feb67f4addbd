//! The type parameter of a pool: a machine, the number of workers, and the room for jobs.

use core::{array, convert::Infallible, fmt, marker::PhantomData};

use pool_core::{
    AwakeSet, DeadlockDetection, Inline, Jec, LendSeats, NoDeadlockDetection, Platform,
    SleepProtocol, Slot as SleepSlot,
};

use super::{
    arena::{Arena, JobInjector, Slot},
    lifecycle::Gate,
    platform::{PoolData, SpinWaiter},
};
use crate::machine::{CoreParker, Machine};

/// The type parameter of [`SpinPool`](crate::SpinPool), [`Worker`](crate::Worker),
/// [`Scope`](crate::Scope) and [`Task`](crate::Task): a machine and the size of a pool.
///
/// [`Cores`] is the only implementation; `DetectingCores`, of the feature `deadlock`, is a name for
/// some of its types. A program names it once, with a type alias. Functions that
/// work for pools of any size take `S: System`.
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
    Sealed
    + Platform<
        Parker = <Self as Sealed>::Parker,
        Queue = JobInjector,
        Waiter = SpinWaiter,
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

    /// Creates an array whose elements are the results of a function for each worker's number.
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
/// Workers sleep by the protocol `K`; another one than the default is passed to
/// [`SpinPool::with_protocol`](crate::SpinPool::with_protocol). `D` is told which workers run; with
/// the default that is compiled away.
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

/// What a pool can tell which workers run. Implemented for every detection of deadlocks.
pub trait Detection: DeadlockDetection + 'static {}

impl<D: DeadlockDetection + 'static> Detection for D {}

impl<M: Machine, const CORES: usize, const JOBS: usize, K: Protocol<M::Parker>, D: Detection> System
    for Cores<M, CORES, JOBS, K, D>
{
    type Machine = M;
    type PerCore<T> = [T; CORES];

    const CORES: usize = CORES;
    const JOBS: usize = JOBS;

    fn per_core<T>(function: impl FnMut(usize) -> T) -> [T; CORES] {
        array::from_fn(function)
    }
}

impl<M: Machine, const CORES: usize, const JOBS: usize, K, D> fmt::Debug
    for Cores<M, CORES, JOBS, K, D>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cores<{CORES}, {JOBS}>")
    }
}

/// Keeps other crates from implementing [`System`], and names what a pool stores by its size.
pub trait Sealed {
    /// Room for the closures that are spawned and have not begun.
    type Arena: AsRef<[Slot]> + Send + Sync;
    /// The gate of each worker.
    type Gates: AsRef<[Gate]> + Send + Sync;
    /// The parker of the machine.
    type Parker: CoreParker;
}

impl<M: Machine, const CORES: usize, const JOBS: usize, K: Protocol<M::Parker>, D: Detection> Sealed
    for Cores<M, CORES, JOBS, K, D>
{
    type Arena = Arena<JOBS>;
    type Gates = [Gate; CORES];
    type Parker = M::Parker;
}
