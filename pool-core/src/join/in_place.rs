//! Closures that are not moved.

use core::mem::ManuallyDrop;

/// A closure that stays where the caller of a join has written it.
///
/// A function that is not inlined gets a closure of more than two words by its address. To move the
/// closure elsewhere, the compiler loads several words at once that were stored one by one just
/// before. Such a load waits until the stores have left the store buffer, some thirteen cycles: a
/// third of a join. So a join leaves the closure where it is, and its job keeps the address.
///
/// Drops the closure unless it is taken out.
pub(super) struct InPlace<'a, F>(&'a mut ManuallyDrop<F>);

impl<'a, F> InPlace<'a, F> {
    /// Whether a closure is passed by its address. A smaller one comes in registers, and is best
    /// written directly into the job.
    pub(super) const PAYS: bool = size_of::<F>() > 2 * size_of::<usize>();

    /// Refers to the closure at this place.
    ///
    /// # Safety
    /// 1. The closure is there, and from now on it is used through the result alone.
    #[inline(always)]
    pub(super) unsafe fn new(place: &'a mut ManuallyDrop<F>) -> Self {
        Self(place)
    }

    /// Takes the closure out.
    #[inline(always)]
    pub(super) fn take(self) -> F {
        let this = ManuallyDrop::new(self);
        // SAFETY: the closure is there, and the caller of `new` does not use it any more. Neither
        // do we: `self` is gone.
        unsafe { (&raw const **this.0).read() }
    }
}

impl<F> Drop for InPlace<'_, F> {
    fn drop(&mut self) {
        // SAFETY: the closure is there, and is not used afterwards: `self` is gone.
        unsafe { ManuallyDrop::drop(self.0) };
    }
}
