//! A value that is read without locks, and replaced as a whole.

use std::{
    fmt,
    marker::PhantomData,
    mem::MaybeUninit,
    ops::Deref,
    sync::atomic::{AtomicPtr, Ordering},
};

use super::{Progress, ReadGuard};

/// A value that jobs and other threads read without locks, while others replace it as a whole: a
/// configuration, a routing table, a snapshot. *RCU* stands for read, copy, update.
///
/// Reading does not change a reference count of the value, so readers on different processors do
/// not wait for each other's cache lines. A replaced value is dropped when the last read that may
/// see it has ended. Use the cell for values that are read often and rarely replaced; for small
/// changes to a large structure, replace a part of it, or see the example `concurrent_map` of this
/// crate. The values belong to a pool, which drops the old ones; the cell can outlive the pool.
///
/// A long read delays the drop of every value that is replaced meanwhile, in all cells of the pool.
///
/// Old values are dropped by a worker between two jobs, or by a thread that replaces a value, of
/// this cell or of another one of the pool. When the pool has ended, no worker is left: a value
/// that is still read when it is replaced then is dropped by the next such call, or with the last
/// [`Progress`] of the pool.
///
/// # Examples
/// ```
/// use pool_std::progress::RcuCell;
///
/// struct Limits { requests: u32, bytes: u64 }
///
/// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
/// let limits = RcuCell::new(pool.progress(), Limits { requests: 10, bytes: 1 << 20 });
///
/// let read = || {
///     let limits = limits.read();
///     // Both are of the same value.
///     (limits.requests, limits.bytes)
/// };
/// let (seen, ()) = pool.join(read, || limits.replace(Limits { requests: 20, bytes: 1 << 21 }));
/// assert!(seen == (10, 1 << 20) || seen == (20, 1 << 21));
/// assert_eq!(read(), (20, 1 << 21));
/// # Ok::<(), pool_std::BuildError>(())
/// ```
///
/// Source: P. E. McKenney, J. D. Slingwine, *Read-Copy Update: Using Execution History to Solve
/// Concurrency Problems* (PDCS 1998). The end of a grace period is a moment of [`Progress`].
pub struct RcuCell<T> {
    progress: Progress,
    /// From a box. Never null.
    value: AtomicPtr<T>,
    /// The cell can be sent and shared as the value can, which an `AtomicPtr` does not ask.
    owned: PhantomData<T>,
}

impl<T: Send + Sync + 'static> RcuCell<T> {
    /// Creates a cell, whose old values the pool of `progress` drops. See [`RcuCell`] for an
    /// example.
    #[must_use]
    pub fn new(progress: Progress, value: T) -> Self {
        Self {
            progress,
            value: AtomicPtr::new(Box::into_raw(Box::new(value))),
            owned: PhantomData,
        }
    }

    /// Returns the current value, for reading. The reference stays valid even if the value is
    /// replaced meanwhile.
    ///
    /// # Examples
    /// ```
    /// # use pool_std::progress::RcuCell;
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(1).build()?;
    /// let names = RcuCell::new(pool.progress(), vec!["a", "b"]);
    /// let before = names.read();
    /// names.replace(vec!["c"]);
    /// assert_eq!((before.len(), names.read().len()), (2, 1));
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    ///
    /// # Complexity
    /// Like [`Progress::read`]: an exchange of a word that few threads share, and a store. Beside
    /// another reference that the thread has, two changes of such a word.
    #[inline]
    #[must_use = "the reference ends at once"]
    pub fn read(&self) -> RcuRef<'_, T> {
        let guard = self.progress.read();
        RcuRef {
            // SAFETY: 1. the guard lives as long as the reference.
            value: MaybeUninit::new(unsafe { self.value() }),
            _guard: guard,
        }
    }

    /// Calls a closure with the current value. In a job of the pool, this writes only to a cache
    /// line of the worker, where [`read`](Self::read) exchanges a word that few threads share.
    ///
    /// The closure must not wait for a moment of the pool, see
    /// [`while_reading`](Progress::while_reading).
    ///
    /// # Examples
    /// ```
    /// # use pool_std::progress::RcuCell;
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let prices = RcuCell::new(pool.progress(), vec![2, 3, 5]);
    /// let sum = pool.install(|| prices.with(|prices| prices.iter().sum::<u32>()));
    /// assert_eq!(sum, 10);
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    ///
    /// # Complexity
    /// In a job of the pool, two stores to a cache line of the worker; elsewhere as `read`.
    #[inline]
    pub fn with<R>(&self, read: impl FnOnce(&T) -> R) -> R {
        // SAFETY: 1. the reference ends with the closure.
        (self.progress).while_reading(|_| read(unsafe { self.value() }))
    }

    /// Returns the current value.
    ///
    /// # Safety
    /// 1. This is called under a guard, which lives as long as the reference.
    #[inline]
    unsafe fn value(&self) -> &T {
        // Ordering: Acquire pairs with the release of `replace` and `update`: the value is
        // complete. Nothing weaker orders the reads of its fields after this load.
        let value = self.value.load(Ordering::Acquire);
        // SAFETY: the value was in reach when the guard began, or came later. So it is not dropped
        // before the guard is, and by obligation 1 not while the reference lives. The cell, which
        // is borrowed, drops its last value only when it is dropped itself.
        unsafe { &*value }
    }

    /// Replaces the value. The old value is dropped when the last read that may see it has ended,
    /// perhaps in this call.
    ///
    /// The call may also drop old values of other cells of the pool. So do not hold a lock that the
    /// drop of any of them takes. If such a drop panics, the pool's
    /// [handler](crate::ThreadPoolBuilder::panic_handler) is called; without a handler, the process
    /// aborts.
    ///
    /// # Examples
    /// See [`RcuCell`].
    pub fn replace(&self, value: T) {
        let new = Box::into_raw(Box::new(value));
        // Ordering: AcqRel. Release: the new value is complete for readers. Acquire: the drop of
        // the old one comes after the writes of the thread that has put it here. Nothing weaker
        // has both.
        let old = self.value.swap(new, Ordering::AcqRel);
        self.drop_later(old);
    }

    /// Replaces the value by one that is made from it. If another thread replaces the value
    /// meanwhile, the closure is called again with the new value, and its earlier result is
    /// dropped in this call. The old value is dropped as by [`replace`](Self::replace), with the
    /// same rule about locks.
    ///
    /// The closure runs during a read, so it must not [wait](Progress::wait_for) for a moment of
    /// the pool.
    ///
    /// # Examples
    /// ```
    /// # use pool_std::progress::RcuCell;
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let names = RcuCell::new(pool.progress(), Vec::new());
    /// let add = |name: &'static str| {
    ///     names.update(|names: &Vec<_>| names.iter().copied().chain([name]).collect());
    /// };
    /// pool.join(|| add("a"), || add("b"));
    /// assert_eq!(names.read().len(), 2);
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    pub fn update(&self, mut make: impl FnMut(&T) -> T) {
        let mut current = self.read();
        loop {
            let old: *const T = &*current;
            let new = Box::into_raw(Box::new(make(&current)));
            // Ordering: AcqRel as in `replace`; Relaxed if it fails, since nothing is read by
            // that. The address of `old` is not used again while the guard lives.
            let exchange = self.value.compare_exchange(
                old.cast_mut(),
                new,
                Ordering::AcqRel,
                Ordering::Relaxed,
            );
            match exchange {
                Ok(old) => {
                    drop(current);
                    return self.drop_later(old);
                }
                Err(_) => {
                    // SAFETY: it came from a box, and no other thread has seen it.
                    drop(unsafe { Box::from_raw(new) });
                    current = self.read();
                }
            }
        }
    }

    /// Drops a value that is out of reach.
    fn drop_later(&self, old: *mut T) {
        let old = Unlinked(old);
        // SAFETY: 1. It came from a box, and was taken out of the cell once. 2. Each guard that
        // existed when it was out of reach is gone.
        self.progress.defer(move || unsafe { old.free() });
    }
}

impl<T> Drop for RcuCell<T> {
    fn drop(&mut self) {
        // SAFETY: it came from a box, and is still in the cell. No reference of `read` is left: it
        // would borrow the cell.
        drop(unsafe { Box::from_raw(*self.value.get_mut()) });
    }
}

impl<T: Send + Sync + fmt::Debug + 'static> fmt::Debug for RcuCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RcuCell").field(&*self.read()).finish()
    }
}

/// A reference to a value of an [`RcuCell`]. Created by [`RcuCell::read`].
///
/// # Examples
/// ```
/// use pool_std::progress::{RcuCell, RcuRef};
///
/// let pool = pool_std::ThreadPoolBuilder::new().num_threads(1).build()?;
/// let name = RcuCell::new(pool.progress(), "a".to_owned());
/// let first: RcuRef<'_, String> = name.read();
/// assert_eq!(first.len(), 1);
/// # Ok::<(), pool_std::BuildError>(())
/// ```
pub struct RcuRef<'c, T> {
    /// Always initialized. Not a plain reference, which the compiler takes to be valid as long as a
    /// function runs that has it as an argument. The value may be freed when the guard is dropped,
    /// in the middle of such a function.
    value: MaybeUninit<&'c T>,
    _guard: ReadGuard<'c>,
}

impl<T> Deref for RcuRef<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: `read` has initialized it, and the guard keeps the value.
        unsafe { self.value.assume_init() }
    }
}

impl<T: fmt::Debug> fmt::Debug for RcuRef<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// A value that was taken out of a cell.
struct Unlinked<T>(*mut T);

// SAFETY: only the thread that drops the value uses the pointer, and the value is `Send`.
unsafe impl<T: Send> Send for Unlinked<T> {}

impl<T> Unlinked<T> {
    /// Drops the value.
    ///
    /// # Safety
    /// 1. The pointer came from a box, and no other one like it is freed.
    /// 2. No thread reads the value any more.
    unsafe fn free(self) {
        // SAFETY: obligations 1 and 2 are forwarded to our caller.
        drop(unsafe { Box::from_raw(self.0) });
    }
}
