//! Pointers and references, also to slices and trait objects.

use core::{fmt, mem::MaybeUninit, ptr::NonNull};

#[cfg(not(loom))]
use core::cell::UnsafeCell;

use super::{
    Niche, Slot, Words,
    words::{Word, sealed::Sealed},
};
use crate::primitive::AtomicPtr;

/// The words of a pointer to a `T`: its address, and for a slice or a trait object its length or
/// its table of functions.
///
/// # Examples
/// ```
/// use deque_core::{Element, PointerWords};
///
/// let words: PointerWords<str> = "a text".into_words();
/// assert_eq!(size_of_val(&words), size_of::<&str>());
/// // SAFETY: 1. these are its words; 2. they are used once.
/// assert_eq!(unsafe { <&str>::from_words(words) }, "a text");
/// ```
pub struct PointerWords<T: ?Sized> {
    /// Every byte is initialized, but a torn copy is not a pointer: its two words may belong to
    /// two different pointers.
    pointer: MaybeUninit<*mut T>,
}

/// Holds a pointer to a `T`, and is as long as such a pointer.
#[cfg(not(loom))]
pub struct PointerSlot<T: ?Sized> {
    /// Accessed through [`word`](Self::word) only, so atomically.
    pointer: UnsafeCell<MaybeUninit<*mut T>>,
}

#[cfg(loom)]
pub struct PointerSlot<T: ?Sized> {
    words: [AtomicPtr<()>; 2],
    pointee: core::marker::PhantomData<*mut T>,
}

impl<T: ?Sized> PointerWords<T> {
    /// The number of words in a pointer.
    const COUNT: usize = {
        let count = size_of::<*mut T>() / size_of::<Word>();
        // Then there is no padding in it, whatever the order of its words.
        assert!(size_of::<*mut T>() == count * size_of::<Word>());
        assert!(align_of::<*mut T>() == align_of::<Word>());
        assert!(count <= 2);
        count
    };

    /// Takes a pointer apart.
    #[inline]
    pub(super) const fn new(pointer: *mut T) -> Self {
        Self {
            pointer: MaybeUninit::new(pointer),
        }
    }

    /// Puts the pointer together.
    ///
    /// # Safety
    /// 1. The words come from [`new`](Self::new), all from the same call.
    #[inline]
    pub(super) const unsafe fn pointer(self) -> *mut T {
        // SAFETY: by obligation 1 the words are those of a pointer.
        unsafe { self.pointer.assume_init() }
    }

    #[inline]
    fn get(&self, index: usize) -> Word {
        assert!(index < Self::COUNT);
        // SAFETY: a pointer consists of `COUNT` words without padding. Each was initialized by a
        // pointer, by `null` or by `set`. A length that is read as a pointer has no provenance.
        unsafe { self.pointer.as_ptr().cast::<Word>().add(index).read() }
    }

    #[inline]
    fn set(&mut self, index: usize, word: Word) {
        assert!(index < Self::COUNT);
        // SAFETY: a pointer consists of `COUNT` words, which are as aligned as it is.
        unsafe {
            self.pointer
                .as_mut_ptr()
                .cast::<Word>()
                .add(index)
                .write(word);
        }
    }
}

impl<T: ?Sized> Clone for PointerWords<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: ?Sized> Copy for PointerWords<T> {}

impl<T: ?Sized> fmt::Debug for PointerWords<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = (0..Self::COUNT).map(|index| self.get(index));
        f.debug_list().entries(words).finish()
    }
}

impl<T: ?Sized> Sealed for PointerWords<T> {}

impl<T: ?Sized> Words for PointerWords<T> {
    type Slot = PointerSlot<T>;

    #[inline]
    fn null() -> Self {
        Self {
            pointer: MaybeUninit::zeroed(),
        }
    }

    #[inline]
    fn is_null(&self) -> bool {
        (0..Self::COUNT).all(|index| self.get(index).is_null())
    }
}

impl<T: ?Sized> fmt::Debug for PointerSlot<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PointerSlot").finish_non_exhaustive()
    }
}

impl<T: ?Sized> PointerSlot<T> {
    #[cfg(not(loom))]
    #[inline]
    fn word(&self, index: usize) -> &AtomicPtr<()> {
        const {
            assert!(align_of::<AtomicPtr<()>>() == align_of::<Word>());
        }
        assert!(index < PointerWords::<T>::COUNT);
        // SAFETY: the pointer consists of `COUNT` initialized words, which are as aligned as it is.
        // They live as long as `self` and are accessed only through this function, so atomically.
        unsafe { AtomicPtr::from_ptr(self.pointer.get().cast::<Word>().add(index)) }
    }

    #[cfg(loom)]
    fn word(&self, index: usize) -> &AtomicPtr<()> {
        &self.words[index]
    }
}

// SAFETY: the words are atomic. The queue guards what they refer to: a slot alone gives access to
// nothing.
unsafe impl<T: ?Sized> Send for PointerSlot<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized> Sync for PointerSlot<T> {}

impl<T: ?Sized> Slot for PointerSlot<T> {
    type Words = PointerWords<T>;

    #[cfg(not(loom))]
    #[allow(clippy::declare_interior_mutable_const)]
    const VACANT: Self = Self {
        pointer: UnsafeCell::new(MaybeUninit::zeroed()),
    };

    #[cfg(not(loom))]
    fn vacant() -> Self {
        Self::VACANT
    }

    #[cfg(loom)]
    fn vacant() -> Self {
        Self {
            words: Slot::vacant(),
            pointee: core::marker::PhantomData,
        }
    }

    #[inline]
    fn load(&self) -> PointerWords<T> {
        let mut words = PointerWords::null();
        for index in 0..PointerWords::<T>::COUNT {
            words.set(index, Slot::load(self.word(index)));
        }
        words
    }

    #[inline]
    fn store(&self, words: PointerWords<T>) {
        for index in 0..PointerWords::<T>::COUNT {
            Slot::store(self.word(index), words.get(index));
        }
    }
}

/// Implements [`Element`](crate::Element) by the conversion to a raw pointer and back.
macro_rules! pointers {
    ($($(#[$meta:meta])* [$($generics:tt)*] $pointer:ty, $into:expr, $from:expr;)*) => {$(
        $(#[$meta])*
        // SAFETY: 1. the words are the pointer, provenance included; 2. the pointer is not freed:
        // owning pointers are turned into raw ones.
        unsafe impl<$($generics)*> $crate::Element for $pointer {
            type Words = $crate::PointerWords<T>;

            #[inline]
            fn into_words(self) -> Self::Words {
                $crate::PointerWords::new($into(self))
            }

            #[inline]
            #[allow(unused_unsafe)]
            unsafe fn from_words(words: Self::Words) -> Self {
                // SAFETY: by obligation 1 the words are what `into_words` made of such a pointer,
                // and by obligation 2 they are used once.
                unsafe { $from(words.pointer()) }
            }
        }
    )*};
}
#[cfg(feature = "alloc")]
pub(super) use pointers;

pointers! {
    [T: ?Sized] *mut T, |pointer| pointer, |pointer| pointer;
    [T: ?Sized] *const T, <*const T>::cast_mut, <*mut T>::cast_const;
    [T: ?Sized] NonNull<T>, NonNull::as_ptr, |pointer| NonNull::new_unchecked(pointer);
    ['a, T: ?Sized] &'a T, |reference| core::ptr::from_ref::<T>(reference).cast_mut(),
        |pointer: *mut T| &*pointer;
    ['a, T: ?Sized] &'a mut T, core::ptr::from_mut::<T>, |pointer: *mut T| &mut *pointer;
}

// SAFETY: 1. the address is not null.
unsafe impl<T: ?Sized> Niche for NonNull<T> {}
// SAFETY: 1. as above.
unsafe impl<T: ?Sized> Niche for &T {}
// SAFETY: 1. as above.
unsafe impl<T: ?Sized> Niche for &mut T {}
