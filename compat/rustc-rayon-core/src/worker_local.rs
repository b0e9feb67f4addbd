//! One value per worker.

use std::{fmt, ops::Deref};

use pool_std::PoolHandle;

/// One value per worker of a pool.
///
/// Each worker sees its own value, without a lock, by [`Deref`]; other threads see none. Guests,
/// which are threads that take the place of a worker, see none either. Pools that this package
/// builds have no guests. A global pool that another package or its first use has built may have
/// some: if `RAYON_CORE_GUESTS` is 1, or if the program also uses it through pool-std.
///
/// # Examples
/// ```
/// use std::cell::Cell;
///
/// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).build()?;
/// let counts = pool.install(|| rayon_core::WorkerLocal::new(|_| Cell::new(0)));
/// pool.broadcast(|context| counts.set(context.index() + 10));
/// assert_eq!(counts.into_inner(), [Cell::new(10), Cell::new(11)]);
/// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
/// ```
pub struct WorkerLocal<T> {
    locals: Vec<Local<T>>,
    pool: PoolHandle,
}

/// One worker's value, on cache lines of its own.
#[repr(align(128))]
struct Local<T>(T);

// SAFETY: a reference to one of the values comes from `current` alone, and only on the worker's own
// thread. That is one thread, from the worker's start to its end: `new` refuses a pool with spare
// threads, and `current` refuses a guest, which could keep the reference after the worker's own
// thread goes on. So no value is used by two threads at once, and a `T` that is `Send` may be used
// by one that did not make it. A shared reference goes to another thread only if `T` is `Sync`.
unsafe impl<T: Send> Sync for WorkerLocal<T> {}

impl<T> WorkerLocal<T> {
    /// Creates the values for the current pool: calls `initial` with the number of each worker, on
    /// this thread.
    ///
    /// # Panics
    /// If the pool has spare threads, which [`pool_std::block_in_place`] lets run as workers. Only
    /// a pool that pool-std's own builder has built can have them. A closure there could use a
    /// worker's value while the spare uses it too.
    pub fn new<F: FnMut(usize) -> T>(mut initial: F) -> WorkerLocal<T> {
        let pool = PoolHandle::current();
        assert!(
            !pool.has_spare_threads(),
            "WorkerLocal cannot be used on a thread pool with spare threads"
        );
        let locals = (0..pool.num_threads())
            .map(|index| Local(initial(index)))
            .collect();
        Self { locals, pool }
    }

    /// Returns all values, in the order of the workers.
    pub fn into_inner(self) -> Vec<T> {
        self.locals.into_iter().map(|local| local.0).collect()
    }

    fn current(&self) -> &T {
        match self.pool.current_own_index() {
            Some(index) => &self.locals[index].0,
            None => self.refuse(),
        }
    }

    #[cold]
    fn refuse(&self) -> ! {
        assert!(
            !self.pool.is_guest(),
            "WorkerLocal cannot be used by a guest of its thread pool (a thread that takes the place of a worker)"
        );
        panic!("WorkerLocal can only be used on the thread pool it was created on")
    }
}

impl<T> WorkerLocal<Vec<T>> {
    /// Returns the elements of all values, in the order of the workers.
    pub fn join(self) -> Vec<T> {
        self.into_inner().into_iter().flatten().collect()
    }
}

impl<T: fmt::Debug> fmt::Debug for WorkerLocal<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkerLocal")
            .field("registry", &self.pool)
            .finish()
    }
}

/// The value of this thread's worker.
///
/// # Panics
/// On a thread that is not a worker of the pool, and on one that is a guest.
impl<T> Deref for WorkerLocal<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.current()
    }
}
