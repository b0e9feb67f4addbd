//! Values that keep out of memory.

use core::{
    hint::black_box,
    mem::{ManuallyDrop, MaybeUninit},
};

/// A value that was moved to a place of its own, for a function that is seldom called.
///
/// A function that is not inlined takes a large value, such as a closure with a few captures, by its
/// address. The compiler then keeps the value in memory also on the paths that never call the function,
/// and copies it about in pieces of another size than those it was written in, which costs a processor
/// some fifteen cycles each time: more than the rest of a join. So what is handed to such a function
/// is moved once more, on the way there.
pub struct Aside<'a, T> {
    /// Holds a value.
    place: &'a mut MaybeUninit<T>,
}

impl<'a, T> Aside<'a, T> {
    /// Moves a value to the place.
    #[inline(always)]
    pub fn new(value: T, place: &'a mut MaybeUninit<T>) -> Self {
        // If the compiler knew that it is a place for just this, it would have the value there from
        // the start.
        let place = black_box(place);
        place.write(value);
        Self { place }
    }

    /// The value.
    #[inline]
    pub fn take(self) -> T {
        let this = ManuallyDrop::new(self);
        // SAFETY: the place holds a value, and forgets it with us.
        unsafe { this.place.assume_init_read() }
    }
}

impl<T> Drop for Aside<'_, T> {
    fn drop(&mut self) {
        // SAFETY: the place holds a value, and forgets it with us.
        unsafe { self.place.assume_init_drop() };
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use core::mem::MaybeUninit;
    use std::{boxed::Box, rc::Rc};

    use super::Aside;

    #[test]
    fn smoke() {
        let mut place = MaybeUninit::uninit();
        assert_eq!(*Aside::new(Box::new(7), &mut place).take(), 7);
    }

    /// Miri would report a leak, or a value that is dropped twice.
    #[test]
    fn destructors() {
        let value = Rc::new(());
        drop(Aside::new(value.clone(), &mut MaybeUninit::uninit()));
        assert_eq!(Rc::strong_count(&value), 1);
        drop(Aside::new(value.clone(), &mut MaybeUninit::uninit()).take());
        assert_eq!(Rc::strong_count(&value), 1);
    }
}
