//! Words, and the slots that hold them.

use crate::primitive::{AtomicPtr, Ordering};

/// One word of an element.
pub(super) type Word = *mut ();

/// The words of an element: `*mut ()`, and arrays and tuples of words.
///
/// # Examples
/// ```
/// use deque_core::{Element, Words};
///
/// fn count<T: Element<Words: Words>>() -> usize {
///     size_of::<T::Words>() / size_of::<*mut ()>()
/// }
///
/// assert_eq!((count::<usize>(), count::<(usize, &str)>()), (1, 3));
/// ```
pub trait Words: Copy + sealed::Sealed {
    #[doc(hidden)]
    type Slot: Slot<Words = Self>;

    /// Returns words that are all null.
    #[doc(hidden)]
    fn null() -> Self;

    /// Whether each word is null.
    #[doc(hidden)]
    fn is_null(&self) -> bool;
}

/// Holds the words of one element, each in an atomic.
pub trait Slot: Sized + Send + Sync {
    type Words;

    #[cfg(not(loom))]
    const VACANT: Self;

    fn vacant() -> Self;
    fn load(&self) -> Self::Words;
    fn store(&self, words: Self::Words);
}

impl Words for Word {
    type Slot = AtomicPtr<()>;

    #[inline]
    fn null() -> Self {
        core::ptr::null_mut()
    }

    #[inline]
    fn is_null(&self) -> bool {
        (*self).is_null()
    }
}

// A constant with interior mutability is what an array of slots in a `static` is made from; each
// use is a slot of its own.
#[allow(clippy::declare_interior_mutable_const)]
impl Slot for AtomicPtr<()> {
    type Words = Word;

    #[cfg(not(loom))]
    const VACANT: Self = Self::new(core::ptr::null_mut());

    fn vacant() -> Self {
        Self::new(core::ptr::null_mut())
    }

    #[inline]
    fn load(&self) -> Word {
        // Ordering: Relaxed. Which thread may use the words is decided by a compare-exchange after
        // this load, and what they refer to is published by the queue's index or flag.
        self.load(Ordering::Relaxed)
    }

    #[inline]
    fn store(&self, word: Word) {
        // Ordering: Relaxed, see `load`.
        self.store(word, Ordering::Relaxed);
    }
}

impl<W: Words, const N: usize> Words for [W; N] {
    type Slot = [W::Slot; N];

    #[inline]
    fn null() -> Self {
        core::array::from_fn(|_| W::null())
    }

    #[inline]
    fn is_null(&self) -> bool {
        self.iter().all(W::is_null)
    }
}

#[allow(clippy::declare_interior_mutable_const)]
impl<S: Slot, const N: usize> Slot for [S; N] {
    type Words = [S::Words; N];

    #[cfg(not(loom))]
    const VACANT: Self = [const { S::VACANT }; N];

    fn vacant() -> Self {
        core::array::from_fn(|_| S::vacant())
    }

    #[inline]
    fn load(&self) -> Self::Words {
        core::array::from_fn(|i| self[i].load())
    }

    #[inline]
    fn store(&self, words: Self::Words) {
        for (slot, words) in self.iter().zip(words) {
            slot.store(words);
        }
    }
}

macro_rules! tuples {
    ($($name:ident)*) => {
        impl<$($name: Words),*> Words for ($($name,)*) {
            type Slot = ($($name::Slot,)*);

            #[inline]
            #[allow(clippy::unused_unit)]
            fn null() -> Self {
                ($($name::null(),)*)
            }

            #[inline]
            #[allow(non_snake_case)]
            fn is_null(&self) -> bool {
                let ($($name,)*) = self;
                true $(&& $name.is_null())*
            }
        }

        #[allow(clippy::declare_interior_mutable_const)]
        impl<$($name: Slot),*> Slot for ($($name,)*) {
            type Words = ($($name::Words,)*);

            #[cfg(not(loom))]
            const VACANT: Self = ($($name::VACANT,)*);

            #[allow(clippy::unused_unit)]
            fn vacant() -> Self {
                ($($name::vacant(),)*)
            }

            #[inline]
            #[allow(non_snake_case, clippy::unused_unit)]
            fn load(&self) -> Self::Words {
                let ($($name,)*) = self;
                ($($name.load(),)*)
            }

            #[inline]
            #[allow(non_snake_case)]
            fn store(&self, words: Self::Words) {
                let ($($name,)*) = self;
                tuples!(@store words, $($name)*);
            }
        }

        impl<$($name: Words),*> sealed::Sealed for ($($name,)*) {}
    };
    (@store $words:ident, $($name:ident)*) => {
        tuples!(@each $words, [$($name)*] [0 1 2 3 4 5 6 7 8 9 10 11]);
    };
    (@each $words:ident, [] [$($rest:tt)*]) => {
        let () = ();
        let _ = $words;
    };
    (@each $words:ident, [$name:ident $($names:ident)*] [$index:tt $($rest:tt)*]) => {
        $name.store($words.$index);
        tuples!(@each $words, [$($names)*] [$($rest)*]);
    };
}

tuples!();
for_each_tuple!(tuples);

pub(super) mod sealed {
    /// Sealed, since a slot must read back what was stored, word by word.
    pub trait Sealed {}
    impl Sealed for super::Word {}
    impl<W: super::Words, const N: usize> Sealed for [W; N] {}
}
