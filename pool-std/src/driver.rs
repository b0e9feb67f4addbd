//! What another crate can add to a pool: parkers for its workers, threads beside them, and waits.
//!
//! A [`Driver`] belongs to one pool; the input and output of the crate `pool-io` is an example. It
//! may give each worker its own [parker](WorkerParker), in which the worker also waits for
//! something other than jobs. It may start [threads](Pool::spawn_thread) that count as threads of
//! the pool, and is notified when the pool ends. With [`wait`], a job waits for an event that a
//! driver reports, while its worker runs other jobs.
//!
//! A driver is attached either when the pool is built, by
//! [`ThreadPoolBuilder::driver`](crate::ThreadPoolBuilder::driver), or when it is first needed, by
//! [`with`]. In the latter case, it provides no parkers.
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
pub(crate) use signal::{current_isolation, wait_for_job, wait_for_own_job};
pub(crate) use slot::Drivers;

use crate::thread_pool::current::PoolGuard;
pub use crate::{fork::Process, thread_pool::stack::is_half_of_stack_free};

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
    /// Returns the parker of a worker. If this is `None`, the worker sleeps as in a pool without a
    /// driver.
    ///
    /// Called once per worker while the pool is being built, and only for the driver that was
    /// passed to the [builder](crate::ThreadPoolBuilder::driver).
    fn parker(&self, worker: usize) -> Option<Box<dyn WorkerParker>> {
        let _ = worker;
        None
    }

    /// Starts what runs beside the workers, before the first worker starts. Called under the same
    /// conditions as [`parker`](Self::parker).
    ///
    /// # Errors
    /// The reason why the pool cannot be built.
    fn start(&self, pool: Pool<'_>) -> io::Result<()> {
        let _ = pool;
        Ok(())
    }

    /// Makes the driver's threads end. Called once, when the pool has no job left, and also if the
    /// pool could not be built after [`start`](Self::start) was called. If building the pool fails
    /// earlier, the driver is only dropped.
    ///
    /// Must not wait for the threads, because the caller may be any worker. A panic aborts the
    /// process.
    fn end(&self) {}
}

/// How one worker sleeps and is woken: a token that is made available and taken.
///
/// [`unpark`](Self::unpark) makes the token available, and [`park`](Self::park) waits for it and
/// takes it, in either order. This is the contract of `sleep_core::Parker` as an object-safe trait.
///
/// During each call, the thread counts as outside every pool, and as in a handler. So an
/// implementation that calls back into a pool runs no job in the middle of falling asleep. If it
/// waits for its own pool, it may hang. A panic aborts the process. A parker that withholds a token
/// leaves its worker asleep; a parker that returns early, or never runs out of hints, keeps the
/// worker awake. A wrong parker can do no other harm.
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
    /// worker's thread.
    fn park(&self);

    /// Makes the token available. Called by any thread, at any time. Must not block.
    fn unpark(&self);

    /// Makes the token available, with a hint about where the work is. [`receive`](Self::receive)
    /// returns the hint later.
    ///
    /// Only pools with [`SleepKind::Hints`](crate::SleepKind::Hints) call this. The default carries
    /// no hints.
    ///
    /// # Errors
    /// If there is no room for the hint. The caller then unparks.
    fn send(&self, hint: Hint) -> Result<(), ChannelFull> {
        let _ = hint;
        Err(ChannelFull)
    }

    /// Takes a hint that was sent, if there is one. The worker calls this until there is none.
    fn receive(&self) -> Option<Hint> {
        None
    }
}

/// Calls a closure with the current pool and its driver of this type. Creates the driver if the
/// pool has none yet.
///
/// The current pool is the one whose worker the calling thread is or lends, or else the global
/// pool. It does not end during the call. If two threads find no driver, both may create one, and
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
    let guard = PoolGuard::current();
    let registry = guard.to_arc();
    guard.while_held(|_| {
        let driver = registry.data().drivers.get_or_add(make);
        closure(Pool(&registry), driver)
    })
}
