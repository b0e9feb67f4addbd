//! Functions, and wakers, which are called through a table of functions.

use core::{
    mem::{ManuallyDrop, transmute},
    task::{RawWakerVTable, Waker},
};

use super::{Element, Niche, words::Word};

macro_rules! functions {
    ($($argument:ident)*) => {
        functions!(@ [fn($($argument),*) -> R] $($argument)*);
        functions!(@ [unsafe fn($($argument),*) -> R] $($argument)*);
        functions!(@ [extern "C" fn($($argument),*) -> R] $($argument)*);
        functions!(@ [unsafe extern "C" fn($($argument),*) -> R] $($argument)*);
    };
    (@ [$function:ty] $($argument:ident)*) => {
        // SAFETY: 1. the word is the function's address, provenance included; 2. there is nothing
        // to own.
        unsafe impl<R, $($argument),*> Element for $function {
            type Words = [Word; 1];

            #[inline]
            fn into_words(self) -> Self::Words {
                [self as Word]
            }

            #[inline]
            unsafe fn from_words([word]: Self::Words) -> Self {
                // SAFETY: by obligation 1 the word is the address of such a function.
                unsafe { transmute::<Word, $function>(word) }
            }
        }

        // SAFETY: 1. the address of a function is not null.
        unsafe impl<R, $($argument),*> Niche for $function {}
    };
}

functions!();
functions!(A);
functions!(A B);
functions!(A B C);
functions!(A B C D);
functions!(A B C D E);
functions!(A B C D E F);

// SAFETY: 1. a waker is its data and its table; 2. it is not dropped.
unsafe impl Element for Waker {
    type Words = [Word; 2];

    #[inline]
    fn into_words(self) -> Self::Words {
        let waker = ManuallyDrop::new(self);
        let table: *const RawWakerVTable = waker.vtable();
        [waker.data().cast_mut(), table.cast_mut().cast()]
    }

    #[inline]
    unsafe fn from_words([data, table]: Self::Words) -> Self {
        // SAFETY: by obligation 1 these are a waker's, whose table is static and keeps its
        // contract. By obligation 2 they are used once.
        unsafe { Self::new(data, &*table.cast::<RawWakerVTable>()) }
    }
}

// SAFETY: 1. the reference to the table is not null.
unsafe impl Niche for Waker {}
