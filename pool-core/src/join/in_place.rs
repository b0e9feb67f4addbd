//! Joins whose closures are not moved.

use core::mem::ManuallyDrop;

use crate::{job::JobContext, platform::Platform, worker::WorkerThread};

impl<P: Platform> WorkerThread<P> {
    /// Joins closures that the caller has written.
    // Never inlined, so that a recursive function that joins stays small. Then the compiler inlines
    // that function here, instead of this one there, and saves a call for each leaf.
    #[inline(never)]
    pub(super) fn join_outlined<A, B, RA, RB>(
        &self,
        mut a: ManuallyDrop<A>,
        mut b: ManuallyDrop<B>,
        migrated: bool,
    ) -> (RA, RB)
    where
        A: FnOnce(JobContext<'_, P>) -> RA,
        B: FnOnce(JobContext<'_, P>) -> RB + Send,
        RB: Send,
    {
        // SAFETY: 1. both are there, and are not used any more.
        unsafe { self.join_in_place(&mut a, &mut b, migrated) }
    }

    /// Joins as [`join_context`](Self::join_context) does, but inlines the join.
    ///
    /// For a platform's own function that is never inlined, and receives each closure as a
    /// [`ManuallyDrop`]. A large closure then stays where the caller of that function has written
    /// it, because moving it would cost as much as a third of a join.
    ///
    /// # Panics
    /// As `join_context`.
    ///
    /// # Safety
    /// 1. Both closures are there. The caller no longer uses them, as if they had been
    ///    [taken](ManuallyDrop::take).
    #[inline(always)]
    pub unsafe fn join_in_place<A, B, RA, RB>(
        &self,
        a: &mut ManuallyDrop<A>,
        b: &mut ManuallyDrop<B>,
        migrated: bool,
    ) -> (RA, RB)
    where
        A: FnOnce(JobContext<'_, P>) -> RA,
        B: FnOnce(JobContext<'_, P>) -> RB + Send,
        RB: Send,
    {
        if const { InPlace::<A>::PAYS } {
            // SAFETY: 1. by our obligation 1.
            let a = unsafe { InPlace::new(a) };
            // SAFETY: 1. by our obligation 1.
            unsafe { self.join_second_in_place(move |context| a.take()(context), b, migrated) }
        } else {
            // SAFETY: the closure is there, and not used again, by obligation 1.
            let a = unsafe { ManuallyDrop::take(a) };
            // SAFETY: 1. by our obligation 1.
            unsafe { self.join_second_in_place(a, b, migrated) }
        }
    }

    /// Joins a closure that may be moved with one that may stay where it is.
    ///
    /// # Safety
    /// 1. As for [`join_in_place`](Self::join_in_place), for `b`.
    #[inline(always)]
    unsafe fn join_second_in_place<A, B, RA, RB>(
        &self,
        a: A,
        b: &mut ManuallyDrop<B>,
        migrated: bool,
    ) -> (RA, RB)
    where
        A: FnOnce(JobContext<'_, P>) -> RA,
        B: FnOnce(JobContext<'_, P>) -> RB + Send,
        RB: Send,
    {
        if const { InPlace::<B>::PAYS } {
            // SAFETY: 1. by our obligation 1.
            let b = unsafe { InPlace::new(b) };
            self.join_moved(
                a,
                move |context: JobContext<'_, P>| b.take()(context),
                migrated,
            )
        } else {
            // SAFETY: the closure is there, and not used again, by obligation 1.
            let b = unsafe { ManuallyDrop::take(b) };
            self.join_moved(a, b, migrated)
        }
    }
}

/// A closure that stays where the caller of a join has written it.
///
/// A function that is not inlined gets a closure of more than two words by its address. To move the
/// closure elsewhere, the compiler loads several words at once that were stored one by one just
/// before. Such a load waits until the stores have left the store buffer, some thirteen cycles: a
/// third of a join. So a join leaves the closure where it is, and its job keeps the address.
///
/// Drops the closure unless it is taken out.
struct InPlace<'a, F>(&'a mut ManuallyDrop<F>);

impl<'a, F> InPlace<'a, F> {
    /// Whether a closure is passed by its address. A smaller one comes in registers, and is best
    /// written directly into the job.
    const PAYS: bool = size_of::<F>() > 2 * size_of::<usize>();

    /// Refers to the closure at this place.
    ///
    /// # Safety
    /// 1. The closure is there, and from now on it is used through the result alone.
    #[inline(always)]
    unsafe fn new(place: &'a mut ManuallyDrop<F>) -> Self {
        Self(place)
    }

    /// Takes the closure out.
    #[inline(always)]
    fn take(self) -> F {
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
