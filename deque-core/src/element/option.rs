//! `Option`, in no more words than its content where that has a niche.

use super::{Element, Niche, Words};

// SAFETY: 1. by the niche's obligation, words that are all null are `None`'s alone; 2. holds for
// the content.
unsafe impl<T: Niche> Element for Option<T> {
    type Words = T::Words;

    #[inline]
    fn into_words(self) -> Self::Words {
        self.map_or_else(Words::null, T::into_words)
    }

    #[inline]
    unsafe fn from_words(words: Self::Words) -> Self {
        // SAFETY: both obligations are forwarded to the caller.
        (!words.is_null()).then(|| unsafe { T::from_words(words) })
    }
}

/// Implements [`Element`] for `Option`s of elements without a niche, with a word that tells whether
/// it is `Some`.
macro_rules! told_by_a_word {
    ($([$($generics:tt)*] $type:ty;)*) => {$(
        // SAFETY: 1. the last word tells whether the others are an element's; 2. holds for the
        // content.
        unsafe impl<$($generics)*> Element for Option<$type> {
            type Words = (<$type as Element>::Words, <bool as Element>::Words);

            #[inline]
            fn into_words(self) -> Self::Words {
                match self {
                    Some(value) => (value.into_words(), true.into_words()),
                    None => (Words::null(), false.into_words()),
                }
            }

            #[inline]
            unsafe fn from_words((value, is_some): Self::Words) -> Self {
                // SAFETY: both obligations are forwarded to the caller.
                unsafe { bool::from_words(is_some).then(|| <$type>::from_words(value)) }
            }
        }
    )*};
}

told_by_a_word! {
    [] u8; [] i8; [] u16; [] i16; [] u32; [] i32; [] u64; [] i64; [] u128; [] i128;
    [] usize; [] isize; [] f32; [] f64; [] bool; [] char; [] (); [] core::time::Duration;
    [T: ?Sized] *mut T; [T: ?Sized] *const T;
}
