//! Several elements in one, and none.

use core::{marker::PhantomData, mem::ManuallyDrop, ops::Deref, pin::Pin};

use super::{Element, Niche};

macro_rules! tuples {
    ($($name:ident)*) => {
        // SAFETY: 1. and 2. hold for each part.
        unsafe impl<$($name: Element),*> Element for ($($name,)*) {
            type Words = ($($name::Words,)*);

            #[inline]
            #[allow(non_snake_case, clippy::unused_unit)]
            fn into_words(self) -> Self::Words {
                let ($($name,)*) = self;
                ($($name.into_words(),)*)
            }

            #[inline]
            #[allow(non_snake_case, clippy::unused_unit)]
            unsafe fn from_words(words: Self::Words) -> Self {
                let ($($name,)*) = words;
                // SAFETY: both obligations are forwarded to each part.
                unsafe { ($(<$name as Element>::from_words($name),)*) }
            }
        }
    };
}

for_each_tuple!(tuples);

// SAFETY: 1. holds for the first part.
unsafe impl<A: Niche, B: Element> Niche for (A, B) {}
// SAFETY: 1. as above.
unsafe impl<A: Niche, B: Element, C: Element> Niche for (A, B, C) {}

// SAFETY: 1. there is one value; 2. there is nothing to own.
unsafe impl Element for () {
    type Words = ();

    #[inline]
    fn into_words(self) {}

    #[inline]
    unsafe fn from_words((): ()) {}
}

// SAFETY: 1. there is one value; 2. there is nothing to own.
unsafe impl<T: ?Sized> Element for PhantomData<T> {
    type Words = ();

    #[inline]
    fn into_words(self) {}

    #[inline]
    unsafe fn from_words((): ()) -> Self {
        Self
    }
}

// SAFETY: 1. and 2. hold for each element.
unsafe impl<T: Element, const N: usize> Element for [T; N] {
    type Words = [T::Words; N];

    #[inline]
    fn into_words(self) -> Self::Words {
        self.map(T::into_words)
    }

    #[inline]
    unsafe fn from_words(words: Self::Words) -> Self {
        // SAFETY: both obligations are forwarded to each element.
        words.map(|words| unsafe { T::from_words(words) })
    }
}

// SAFETY: 1. and 2. hold for what is inside.
unsafe impl<T: Element> Element for ManuallyDrop<T> {
    type Words = T::Words;

    #[inline]
    fn into_words(self) -> Self::Words {
        Self::into_inner(self).into_words()
    }

    #[inline]
    unsafe fn from_words(words: Self::Words) -> Self {
        // SAFETY: both obligations are forwarded to the caller.
        Self::new(unsafe { T::from_words(words) })
    }
}

// SAFETY: 1. and 2. hold for the pointer inside.
unsafe impl<P: Element + Deref> Element for Pin<P> {
    type Words = P::Words;

    #[inline]
    fn into_words(self) -> Self::Words {
        // SAFETY: the pointer is only taken apart, and by obligation 2 of its own `Element` its
        // target is not moved.
        unsafe { Self::into_inner_unchecked(self) }.into_words()
    }

    #[inline]
    unsafe fn from_words(words: Self::Words) -> Self {
        // SAFETY: both obligations are forwarded to the caller; the pointer's target has been
        // pinned all the time, and is not moved now, by obligation 2 of the pointer's `Element`.
        unsafe { Self::new_unchecked(P::from_words(words)) }
    }
}

// SAFETY: 1. holds for the pointer inside.
unsafe impl<P: Niche + Deref> Niche for Pin<P> {}
