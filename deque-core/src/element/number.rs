//! Numbers, and types that are stored as numbers.

use core::{num::NonZero, ptr::without_provenance_mut, time::Duration};

use super::{Element, Niche, words::Word};

macro_rules! integers {
    ($($integer:ty)*) => {$(
        // SAFETY: 1. there are as many words as the integer has bytes; 2. there is nothing to own.
        unsafe impl Element for $integer {
            type Words = [Word; size_of::<$integer>().div_ceil(size_of::<usize>())];

            #[inline]
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            #[allow(clippy::cast_lossless)]
            fn into_words(self) -> Self::Words {
                core::array::from_fn(|index| {
                    let shift = index as u32 * usize::BITS;
                    without_provenance_mut((self >> shift) as usize)
                })
            }

            #[inline]
            #[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)]
            #[allow(clippy::cast_lossless)]
            unsafe fn from_words(words: Self::Words) -> Self {
                (0..).zip(words).fold(0, |integer, (index, word): (u32, Word)| {
                    integer | (word.addr() as $integer) << (index * usize::BITS)
                })
            }
        }

        // SAFETY: 1. and 2. hold for the integer.
        unsafe impl Element for NonZero<$integer> {
            type Words = <$integer as Element>::Words;

            #[inline]
            fn into_words(self) -> Self::Words {
                self.get().into_words()
            }

            #[inline]
            unsafe fn from_words(words: Self::Words) -> Self {
                // SAFETY: both obligations are forwarded to the caller; it was not zero.
                unsafe { Self::new_unchecked(<$integer>::from_words(words)) }
            }
        }

        // SAFETY: 1. a number that is not zero has a word that is not zero.
        unsafe impl Niche for NonZero<$integer> {}
    )*};
}

integers!(u8 i8 u16 i16 u32 i32 u64 i64 u128 i128 usize isize);

macro_rules! as_others {
    ($($type:ty, $other:ty, $into:expr, $from:expr;)*) => {$(
        // SAFETY: 1. the conversions are each other's inverse; 2. there is nothing to own.
        unsafe impl Element for $type {
            type Words = <$other as Element>::Words;

            #[inline]
            fn into_words(self) -> Self::Words {
                $into(self).into_words()
            }

            #[inline]
            unsafe fn from_words(words: Self::Words) -> Self {
                // SAFETY: both obligations are forwarded to the caller; the word was made of such
                // a value.
                unsafe { $from(<$other>::from_words(words)) }
            }
        }
    )*};
}

as_others! {
    bool, u8, u8::from, |byte| byte != 0;
    char, u32, u32::from, |code| char::from_u32_unchecked(code);
    f32, u32, f32::to_bits, f32::from_bits;
    f64, u64, f64::to_bits, f64::from_bits;
    Duration, (u64, u32), |duration: Duration| (duration.as_secs(), duration.subsec_nanos()),
        |(seconds, nanos)| Duration::new(seconds, nanos);
}
