//! Types that own memory on the heap.

#[cfg(target_has_atomic = "ptr")]
use alloc::sync;
use alloc::{boxed::Box, rc, string::String, vec::Vec};
use core::mem::ManuallyDrop;

use super::{Element, Niche, pointer::pointers, words::Word};

pointers! {
    [T: ?Sized] Box<T>, Box::into_raw, |pointer| Box::from_raw(pointer);
    [T: ?Sized] rc::Rc<T>, |shared| rc::Rc::<T>::into_raw(shared).cast_mut(),
        |pointer: *mut T| rc::Rc::from_raw(pointer.cast_const());
    [T: ?Sized] rc::Weak<T>, |shared| rc::Weak::<T>::into_raw(shared).cast_mut(),
        |pointer: *mut T| rc::Weak::from_raw(pointer.cast_const());
    #[cfg(target_has_atomic = "ptr")]
    [T: ?Sized] sync::Arc<T>, |shared| sync::Arc::<T>::into_raw(shared).cast_mut(),
        |pointer: *mut T| sync::Arc::from_raw(pointer.cast_const());
    #[cfg(target_has_atomic = "ptr")]
    [T: ?Sized] sync::Weak<T>, |shared| sync::Weak::<T>::into_raw(shared).cast_mut(),
        |pointer: *mut T| sync::Weak::from_raw(pointer.cast_const());
}

// SAFETY: 1. a box's address is not null.
unsafe impl<T: ?Sized> Niche for Box<T> {}
// SAFETY: 1. nor is that of a value with a counter before it.
unsafe impl<T: ?Sized> Niche for rc::Rc<T> {}
// SAFETY: 1. as above.
#[cfg(target_has_atomic = "ptr")]
unsafe impl<T: ?Sized> Niche for sync::Arc<T> {}

// SAFETY: 1. a vector is its pointer, its length and its capacity; 2. the memory is not freed.
unsafe impl<T> Element for Vec<T> {
    type Words = [Word; 3];

    #[inline]
    fn into_words(self) -> Self::Words {
        let mut owned = ManuallyDrop::new(self);
        [
            owned.as_mut_ptr().cast(),
            core::ptr::without_provenance_mut(owned.len()),
            core::ptr::without_provenance_mut(owned.capacity()),
        ]
    }

    #[inline]
    unsafe fn from_words([pointer, len, capacity]: Self::Words) -> Self {
        // SAFETY: by obligation 1 these are a vector's, and by obligation 2 used once.
        unsafe { Self::from_raw_parts(pointer.cast(), len.addr(), capacity.addr()) }
    }
}

// SAFETY: 1. the pointer of a vector is not null, not even if it is empty.
unsafe impl<T> Niche for Vec<T> {}

// SAFETY: 1. and 2. hold for the vector of its bytes.
unsafe impl Element for String {
    type Words = <Vec<u8> as Element>::Words;

    #[inline]
    fn into_words(self) -> Self::Words {
        self.into_bytes().into_words()
    }

    #[inline]
    unsafe fn from_words(words: Self::Words) -> Self {
        // SAFETY: both obligations are forwarded to the caller; the bytes were a string's.
        unsafe { Self::from_utf8_unchecked(Vec::from_words(words)) }
    }
}

// SAFETY: 1. holds for the vector of its bytes.
unsafe impl Niche for String {}
