//! What another crate adds to a pool: parkers for its workers, threads beside them, and waits.
//!
//! A [`Driver`] belongs to one pool, as the input and output of the crate `pool-io` does. It may
//! give each worker a [parker of its own](WorkerParker), in which the worker also waits for
//! something else than jobs. It may start [threads](Pool::spawn_thread) that count as those of the
//! pool, and is notified when the pool ends. With [`wait`], a job waits for what a driver reports,
//! while its worker runs other jobs.
//!
//! A driver is attached when the pool is built, by
//! [`ThreadPoolBuilder::driver`](crate::ThreadPoolBuilder::driver). Or it is attached when it is
//! first needed, by [`with`]; then it gives no parkers.
//!
//! # Examples
//! A count of the operations of each pool, and a wait for another thread:
//! ```
//! use std::{sync::atomic::{AtomicUsize, Ordering}, thread};
//!
//! use pool_std::driver::{self, Driver};
//!
//! #[derive(Default)]
//! struct Operations(AtomicUsize);
//! impl Driver for Operations {}
//!
//! /// Computes on a thread of its own. A worker that calls this runs other jobs meanwhile.
//! fn compute_elsewhere() {
//!     driver::with(Operations::default, |_, Operations(count)| {
//!         count.fetch_add(1, Ordering::Relaxed);
//!     });
//!     driver::wait(|signal| {
//!         thread::spawn(move || signal.set());
//!     });
//! }
//!
//! let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
//! let count = pool.install(|| {
//!     pool_std::join(compute_elsewhere, compute_elsewhere);
//!     driver::with(Operations::default, |_, count| count.0.load(Ordering::Relaxed))
//! });
//! assert_eq!(count, 2);
//! # Ok::<(), pool_std::BuildError>(())
//! ```

mod pool;
mod signal;
mod slot;

use std::{any::Any, io};

pub use pool::Pool;
pub use pool_core::{ChannelFull, Hint};
pub use signal::{Signal, wait, wait_blocking};
pub(crate) use signal::{wait_for_job, wait_for_own_job};
pub(crate) use slot::Drivers;

use crate::thread_pool::current::PoolGuard;

/// What another crate adds to a pool.
///
/// Each method has a default, which adds nothing.
///
/// # Examples
/// ```
/// use std::io;
///
/// use pool_std::driver::{Driver, Pool};
///
/// /// Prints when a pool begins and ends.
/// struct Announcer;
///
/// impl Driver for Announcer {
///     fn start(&self, pool: Pool<'_>) -> io::Result<()> {
///         println!("pool {pool:?} begins");
///         Ok(())
///     }
///
///     fn end(&self) {
///         println!("it has ended");
///     }
/// }
/// ```
pub trait Driver: Any + Send + Sync {
    /// Returns the parker of a worker. With `None`, the worker sleeps as in a pool without a
    /// driver.
    ///
    /// Called once per worker while the pool is being built, and only for the driver that the
    /// [builder](crate::ThreadPoolBuilder::driver) was given.
    fn parker(&self, worker: usize) -> Option<Box<dyn WorkerParker>> {
        let _ = worker;
        None
    }

    /// Starts what runs beside the workers, before the first of them starts. Called as
    /// [`parker`](Self::parker) is.
    ///
    /// # Errors
    /// The reason why the pool cannot be built.
    fn start(&self, pool: Pool<'_>) -> io::Result<()> {
        let _ = pool;
        Ok(())
    }

    /// Makes the driver's threads end. Called once, when the pool has no job left, and also if it
    /// could not be built after [`start`](Self::start) was called. A driver whose pool failed
    /// before that is only dropped.
    ///
    /// Must not wait for the threads: the caller may be any worker. A panic aborts the process.
    fn end(&self) {}
}

/// How one worker sleeps and is woken: a token that is given and taken.
///
/// [`unpark`](Self::unpark) makes the token available, and [`park`](Self::park) waits for it and
/// takes it, in whichever order they come. It is the contract of `sleep_core::Parker`, in a form
/// for values in boxes.
///
/// During each call, the thread counts as outside every pool, and as in a handler. So an
/// implementation that calls back into a pool runs no job in the middle of falling asleep. If it
/// waits for its own pool, it may hang. A panic aborts the process. A parker that keeps a token
/// back makes its worker sleep on; one that returns early, or never runs out of hints, keeps it
/// awake. None can do more harm.
///
/// # Examples
/// ```
/// use std::thread::{self, Thread};
///
/// use pool_std::driver::WorkerParker;
///
/// /// The token of the thread itself, as the standard library has it.
/// struct OfThread(Thread);
///
/// impl WorkerParker for OfThread {
///     fn park(&self) {
///         thread::park();
///     }
///
///     fn unpark(&self) {
///         self.0.unpark();
///     }
/// }
/// ```
pub trait WorkerParker: Send + Sync {
    /// Waits for the token and takes it. May return early. Called by one thread at a time: the
    /// worker's.
    fn park(&self);

    /// Makes the token available. Called by any thread, at any time. Must not block.
    fn unpark(&self);

    /// Makes the token available, with a hint where the work is, which [`receive`](Self::receive)
    /// returns later.
    ///
    /// Only pools with [`SleepKind::Hints`](crate::SleepKind::Hints) call this. The default carries
    /// no hints.
    ///
    /// # Errors
    /// If there is no room for the hint. Then the caller unparks.
    fn send(&self, hint: Hint) -> Result<(), ChannelFull> {
        let _ = hint;
        Err(ChannelFull)
    }

    /// Takes a hint that was sent, if there is one. Called by the worker, until there is none.
    fn receive(&self) -> Option<Hint> {
        None
    }
}

/// Calls a closure with the current pool and its driver of this type. Makes the driver if the pool
/// has none yet.
///
/// The current pool is the one whose worker the calling thread is or lends, or else the global
/// pool. It does not end during the call. Two threads that find no driver may both make one; then
/// one of the two is dropped.
///
/// # Examples
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
///
/// use pool_std::driver::{self, Driver};
///
/// #[derive(Default)]
/// struct Calls(AtomicUsize);
/// impl Driver for Calls {}
///
/// let calls = |add| {
///     driver::with(Calls::default, |_pool, calls| calls.0.fetch_add(add, Ordering::Relaxed))
/// };
/// calls(1);
/// assert_eq!(calls(0), 1, "the pool keeps its driver");
/// ```
pub fn with<D: Driver, R>(make: impl FnOnce() -> D, closure: impl FnOnce(Pool<'_>, &D) -> R) -> R {
    PoolGuard::current().while_held(|registry| {
        let driver = registry.data().drivers.get_or_add(make);
        closure(Pool::new(registry), driver)
    })
}
