//! Values for functions that are seldom called.

use core::{
    fmt,
    hint::black_box,
    mem::{ManuallyDrop, MaybeUninit},
};

/// A value that is passed to a cold function, in separate memory.
///
/// A function that is not inlined takes a large value, such as a closure with a few captures, by
/// its address. The compiler then also keeps the value in memory on the paths that never call the
/// function. There, it copies the value in pieces of a different size than those in which it was
/// written, which costs a processor some fifteen cycles each time: more than the rest of a join. So
/// the value is moved once more, on the path that calls the function.
///
/// # Examples
/// ```
/// use std::mem::MaybeUninit;
///
/// use pool_core::ColdArg;
///
/// #[cold]
/// #[inline(never)]
/// fn rare(closure: ColdArg<'_, impl FnOnce() -> u32>) -> u32 {
///     closure.take()()
/// }
///
/// let captured = [1, 2, 3];
/// let sum = rare(ColdArg::new(move || captured.iter().sum(), &mut MaybeUninit::uninit()));
/// assert_eq!(sum, 6);
/// ```
#[doc(alias = "Aside")]
pub struct ColdArg<'a, T> {
    /// Holds a value.
    storage: &'a mut MaybeUninit<T>,
}

impl<T> fmt::Debug for ColdArg<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ColdArg").finish_non_exhaustive()
    }
}

impl<'a, T> ColdArg<'a, T> {
    /// Moves a value into the storage.
    #[inline(always)]
    pub fn new(value: T, storage: &'a mut MaybeUninit<T>) -> Self {
        // If the compiler knew that the storage is only for this, it would keep the value there
        // from the start.
        let storage = black_box(storage);
        storage.write(value);
        Self { storage }
    }

    /// Takes the value out.
    #[inline]
    pub fn take(self) -> T {
        let this = ManuallyDrop::new(self);
        // SAFETY: the storage holds a value, and is not used again: `self` is gone.
        unsafe { this.storage.assume_init_read() }
    }
}

impl<T> Drop for ColdArg<'_, T> {
    fn drop(&mut self) {
        // SAFETY: the storage holds a value, and is not used again: `self` is gone.
        unsafe { self.storage.assume_init_drop() };
    }
}
