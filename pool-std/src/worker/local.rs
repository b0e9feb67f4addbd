//! One value for each worker of a pool.

use std::{cell::Cell, error::Error, fmt, panic::RefUnwindSafe, ptr, sync::Arc};

use crate::{
    platform::Registry,
    thread_pool::{ThreadPool, current::current_registry, id::PoolId},
    worker::current_worker_of,
};

/// One value for each worker of a pool, which the worker uses without a lock.
///
/// Use it for values that jobs collect or reuse: counters, buffers, random number generators. When
/// the jobs have ended, the owner reads [all values](Self::iter_mut), or takes them.
///
/// A value need not be `Sync`. [`with`](Self::with) lends it to the calling job, and a wait in the
/// closure may run another job on the same worker, which is lent the same value. So the closure
/// receives a shared reference: use a [`Cell`], or a [`RefCell`](std::cell::RefCell) that is not
/// borrowed during a wait.
///
/// # Examples
/// ```
/// use std::cell::Cell;
///
/// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
/// let mut leaves = pool.worker_local(|_| Cell::new(0));
/// fn count(depth: u32, leaves: &pool_std::WorkerLocal<Cell<u32>>) {
///     if depth == 0 {
///         leaves.with(|leaves| leaves.set(leaves.get() + 1));
///     } else {
///         pool_std::join(|| count(depth - 1, leaves), || count(depth - 1, leaves));
///     }
/// }
/// pool.install(|| count(10, &leaves));
/// assert_eq!(leaves.iter_mut().map(|leaves| leaves.get()).sum::<u32>(), 1024);
/// # Ok::<(), pool_std::BuildError>(())
/// ```
///
/// The closure cannot keep the reference:
/// ```compile_fail
/// let local = pool_std::WorkerLocal::new(|_| std::cell::Cell::new(0));
/// let kept = pool_std::with_worker(|_| local.with(|value| value));
/// ```
#[doc(alias = "thread_local")]
#[doc(alias = "enumerable_thread_specific")]
pub struct WorkerLocal<T> {
    places: Box<[Place<T>]>,
    registry: Arc<Registry>,
}

/// The value of one worker, on cache lines of its own. Only a thread that is the worker at the
/// moment touches it, or the owner of all of them.
#[repr(align(128))]
struct Place<T> {
    value: T,
    /// The thread to which the value is lent, and by how many calls, one inside the other.
    lent: Cell<(ThreadAddress, usize)>,
}

/// The address of a thread's variable, which no two living threads share.
type ThreadAddress = *const u8;

thread_local! {
    static ADDRESS: u8 = const { 0 };
}

// SAFETY: `with` gives out a reference to a value on a thread that is its worker at the moment,
// until its closure ends. So at any time one thread uses a value, which may be sent to it. Threads
// that are one worker by turns pass on what they did:
// - A guest is the worker while the worker's own thread sleeps below no job. Its closures have
//   ended when it gives the seat back.
// - A spare thread is the worker while the worker's own thread is in `block_in_place`.
// - In a closure of `with`, the worker's own thread may do either: it blocks, or it is an adopted
//   one and shuts its pool down. Then the value is lent to it, and `with` refuses the other thread.
unsafe impl<T: Send> Sync for WorkerLocal<T> {}
// SAFETY: the values are `Send`, and the addresses are only compared.
unsafe impl<T: Send> Send for WorkerLocal<T> {}

impl<T: Send> WorkerLocal<T> {
    /// Creates the values for the current pool: the one whose worker this thread is, or
    /// [lends](crate::block_in_place()), or else the global pool. Calls `initial` with the number
    /// of each worker, on this thread.
    ///
    /// # Panics
    /// Resumes a panic of `initial`.
    pub fn new(initial: impl FnMut(usize) -> T) -> Self {
        Self::of(current_registry(), initial)
    }

    fn of(registry: Arc<Registry>, mut initial: impl FnMut(usize) -> T) -> Self {
        let place = |worker| Place {
            value: initial(worker),
            lent: Cell::new((ptr::null(), 0)),
        };
        Self {
            places: (0..registry.num_workers()).map(place).collect(),
            registry,
        }
    }

    /// Calls a closure with the value of the worker that this thread is.
    ///
    /// # Panics
    /// - If this thread is not a worker of the pool, or if the worker's value is lent: see
    ///   [`try_with`](Self::try_with).
    /// - Resumes the closure's panic.
    #[inline]
    #[track_caller]
    pub fn with<R>(&self, closure: impl FnOnce(&T) -> R) -> R {
        match self.try_with(closure) {
            Ok(result) => result,
            Err(error) => panic!("{error}"),
        }
    }

    /// Calls a closure with the value of the worker that this thread is.
    ///
    /// # Errors
    /// Returns [`WorkerLocalError`], without calling the closure, if this thread is not a worker of
    /// the pool, or if the value is lent to another thread: a closure of `with` has called
    /// [`block_in_place`](crate::block_in_place()), and this thread is the worker meanwhile.
    ///
    /// # Examples
    /// ```
    /// let local = pool_std::WorkerLocal::new(|index| index);
    /// assert_eq!(local.try_with(|_| ()), Err(pool_std::WorkerLocalError::NotAWorker));
    /// ```
    #[inline]
    pub fn try_with<R>(&self, closure: impl FnOnce(&T) -> R) -> Result<R, WorkerLocalError> {
        /// Ends a loan, also if the closure unwinds.
        struct Loan<'p>(&'p Cell<(ThreadAddress, usize)>);

        impl Drop for Loan<'_> {
            fn drop(&mut self) {
                let (thread, calls) = self.0.get();
                self.0.set((thread, calls - 1));
            }
        }

        let worker = current_worker_of(&self.registry).ok_or(WorkerLocalError::NotAWorker)?;
        let place = &self.places[worker.index().get()];
        let (thread, calls) = place.lent.get();
        let here = ADDRESS.with(ptr::from_ref);
        if calls > 0 && thread != here {
            return Err(WorkerLocalError::Lent);
        }
        place.lent.set((here, calls + 1));
        let _loan = Loan(&place.lent);
        Ok(closure(&place.value))
    }

    /// Returns the values, in the order of the workers.
    pub fn iter_mut(&mut self) -> impl ExactSizeIterator<Item = &mut T> {
        self.places.iter_mut().map(|place| &mut place.value)
    }

    /// Returns the values, in the order of the workers.
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let numbers = pool.worker_local(|worker| worker);
    /// assert_eq!(numbers.into_values().collect::<Vec<_>>(), [0, 1]);
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    pub fn into_values(self) -> impl ExactSizeIterator<Item = T> {
        self.places.into_iter().map(|place| place.value)
    }
}

impl ThreadPool {
    /// Creates a value for each worker of this pool by calling a closure with each worker's number,
    /// on this thread.
    ///
    /// # Panics
    /// Resumes a panic of the closure.
    ///
    /// # Examples
    /// ```
    /// use std::cell::Cell;
    ///
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let counts = pool.worker_local(|_worker| Cell::new(0));
    /// pool.broadcast(|_| counts.with(|count| count.set(count.get() + 1)));
    /// assert_eq!(counts.into_values().map(Cell::into_inner).sum::<u32>(), 2);
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    pub fn worker_local<T: Send>(&self, initial: impl FnMut(usize) -> T) -> WorkerLocal<T> {
        WorkerLocal::of(self.registry().clone(), initial)
    }
}

/// A panic in a closure ends its loan, too.
impl<T: RefUnwindSafe> RefUnwindSafe for WorkerLocal<T> {}

impl<T> fmt::Debug for WorkerLocal<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkerLocal")
            .field("pool", &PoolId::of(&self.registry))
            .finish_non_exhaustive()
    }
}

/// The reason why a worker's value cannot be lent to a thread.
///
/// # Examples
/// ```
/// use pool_std::WorkerLocalError;
///
/// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
/// let numbers = pool.worker_local(|worker| worker);
/// // This thread is outside the pool.
/// assert_eq!(numbers.try_with(|_| ()), Err(WorkerLocalError::NotAWorker));
/// # Ok::<(), pool_std::BuildError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WorkerLocalError {
    /// The thread is not a worker of the pool for which the values were created.
    NotAWorker,
    /// The value is lent to the worker's own thread, which blocks while this thread takes its
    /// place.
    Lent,
}

impl fmt::Display for WorkerLocalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotAWorker => "this thread is not a worker of the pool of the `WorkerLocal`",
            Self::Lent => {
                "the value of this worker is lent to a closure that has called `block_in_place`"
            }
        })
    }
}

impl Error for WorkerLocalError {}
