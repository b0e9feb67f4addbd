//! Elements as machine words, so that a slot can be read by a thief while its owner writes it.

use core::ptr::NonNull;

use crate::primitive::{AtomicPtr, Ordering};

/// A value that can be taken apart into machine words and put together again.
///
/// A thief copies an element before it knows whether the element is its own; only the
/// compare-exchange that follows decides. Such a copy may be torn. So slots hold atomic words, in
/// which a torn copy is harmless, and an element is put together only after the decision. Words
/// are pointers, not integers, so that provenance survives.
///
/// Implemented for pointers, references, integers up to the size of a word, and pairs of these;
/// with `alloc` also for boxes and `Arc`s. Anything else goes into a box.
///
/// # Safety
/// 1. `from_words(value.into_words())` gives back `value`, also on another thread if the type is
///    `Send`.
/// 2. `into_words` gives up ownership: it drops nothing, and what the words refer to stays valid.
pub unsafe trait Element: Sized {
    /// An array of as many words as the element takes.
    type Words: Words;

    /// Takes the value apart.
    fn into_words(self) -> Self::Words;

    /// Puts the value together.
    ///
    /// # Safety
    /// 1. `words` come from `into_words` of the same type.
    /// 2. They are put together at most once.
    unsafe fn from_words(words: Self::Words) -> Self;
}

/// One word of an element.
type Word = *mut ();

/// The words of an element: `[*mut (); N]`.
pub trait Words: Copy + sealed::Sealed {
    #[doc(hidden)]
    type Slot: Slot<Words = Self>;
}

impl<const N: usize> Words for [Word; N] {
    type Slot = WordSlot<N>;
}

/// A place for one element.
pub trait Slot: Sized + Send + Sync {
    type Words;

    #[cfg(not(loom))]
    const VACANT: Self;

    fn vacant() -> Self;
    fn load(&self) -> Self::Words;
    fn store(&self, words: Self::Words);
}

/// The slot type of an element type.
pub(crate) type SlotOf<T> = <<T as Element>::Words as Words>::Slot;

pub struct WordSlot<const N: usize>([AtomicPtr<()>; N]);

impl<const N: usize> Slot for WordSlot<N> {
    type Words = [Word; N];

    // A constant with interior mutability is what an array of slots in a `static` is made from;
    // each use is a slot of its own.
    #[cfg(not(loom))]
    #[allow(clippy::declare_interior_mutable_const)]
    const VACANT: Self = Self([const { AtomicPtr::new(core::ptr::null_mut()) }; N]);

    fn vacant() -> Self {
        Self(core::array::from_fn(|_| {
            AtomicPtr::new(core::ptr::null_mut())
        }))
    }

    #[inline]
    fn load(&self) -> Self::Words {
        // Ordering: Relaxed. Who may use the words is decided by a compare-exchange after this
        // load, and what they refer to is published by the queue's index or flag.
        core::array::from_fn(|i| self.0[i].load(Ordering::Relaxed))
    }

    #[inline]
    fn store(&self, words: Self::Words) {
        for (slot, word) in self.0.iter().zip(words) {
            // Ordering: Relaxed, see `load`.
            slot.store(word, Ordering::Relaxed);
        }
    }
}

/// Drops what `take` gives until that is None. If a destructor panics, the others run all the same.
pub(crate) fn drop_all<T>(take: impl FnMut() -> Option<T>) {
    struct Rest<T, F: FnMut() -> Option<T>>(F);

    impl<T, F: FnMut() -> Option<T>> Drop for Rest<T, F> {
        fn drop(&mut self) {
            while let Some(element) = (self.0)() {
                drop(element);
            }
        }
    }

    let mut rest = Rest(take);
    while let Some(element) = (rest.0)() {
        drop(element);
    }
}

mod sealed {
    pub trait Sealed {}
    impl<const N: usize> Sealed for [super::Word; N] {}
}

macro_rules! integers {
    ($($integer:ty),*) => {$(
        // SAFETY: 1. no integer of the list is wider than a word; 2. there is nothing to own.
        unsafe impl Element for $integer {
            type Words = [Word; 1];

            #[inline]
            fn into_words(self) -> Self::Words {
                [core::ptr::without_provenance_mut(self as usize)]
            }

            #[inline]
            unsafe fn from_words([word]: Self::Words) -> Self {
                word.addr() as $integer
            }
        }
    )*};
}

integers!(usize, isize, u8, i8, u16, i16);
#[cfg(any(target_pointer_width = "32", target_pointer_width = "64"))]
integers!(u32, i32);
#[cfg(target_pointer_width = "64")]
integers!(u64, i64);

macro_rules! pointers {
    ($($(#[$meta:meta])* [$($generics:tt)*] $pointer:ty, $into:expr, $from:expr;)*) => {$(
        $(#[$meta])*
        // SAFETY: 1. the word is the pointer, provenance included; 2. the pointer is not freed,
        // and owning pointers are turned into raw ones.
        unsafe impl<$($generics)*> Element for $pointer {
            type Words = [Word; 1];

            #[inline]
            fn into_words(self) -> Self::Words {
                [$into(self)]
            }

            #[inline]
            unsafe fn from_words([word]: Self::Words) -> Self {
                // SAFETY: by obligation 1 the word is what `into_words` made of such a pointer,
                // and by obligation 2 it is used once.
                unsafe { $from(word) }
            }
        }
    )*};
}

/// For the conversions below that are safe: all in `pointers!` run in an unsafe block.
#[inline]
unsafe fn cast<T>(word: Word) -> *mut T {
    word.cast()
}

pointers! {
    [T] *mut T, |pointer: *mut T| pointer.cast(), cast;
    [T] *const T, |pointer: *const T| pointer.cast_mut().cast(), |word| cast::<T>(word).cast_const();
    [T] NonNull<T>, |pointer: NonNull<T>| pointer.as_ptr().cast(),
        |word| NonNull::new_unchecked(cast(word));
    ['a, T] &'a T, |reference| core::ptr::from_ref::<T>(reference).cast_mut().cast(),
        |word| &*cast(word);
    #[cfg(feature = "alloc")]
    [T] alloc::boxed::Box<T>, |owned| alloc::boxed::Box::<T>::into_raw(owned).cast(),
        |word| alloc::boxed::Box::from_raw(cast(word));
    #[cfg(all(feature = "alloc", target_has_atomic = "ptr"))]
    [T] alloc::sync::Arc<T>,
        |shared| alloc::sync::Arc::<T>::into_raw(shared).cast_mut().cast(),
        |word| alloc::sync::Arc::from_raw(cast::<T>(word).cast_const());
}

// SAFETY: 1. and 2. hold for both halves.
unsafe impl<A, B> Element for (A, B)
where
    A: Element<Words = [Word; 1]>,
    B: Element<Words = [Word; 1]>,
{
    type Words = [Word; 2];

    #[inline]
    fn into_words(self) -> Self::Words {
        let ([first], [second]) = (self.0.into_words(), self.1.into_words());
        [first, second]
    }

    #[inline]
    unsafe fn from_words([first, second]: Self::Words) -> Self {
        // SAFETY: 1. and 2. are handed on to each half.
        unsafe { (A::from_words([first]), B::from_words([second])) }
    }
}
