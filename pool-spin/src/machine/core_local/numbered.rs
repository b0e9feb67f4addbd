//! Core-local pointers in an array, for machines whose cores know their number.

use core::{fmt, marker::PhantomData, ptr};

use super::CoreLocal;
use crate::primitive::{AtomicPtr, Ordering};

/// Cores that know their number: `MPIDR`, `mhartid`, a CPU identity register, an APIC ID.
///
/// # Safety
/// 1. [`number`](Self::number) is always the same on one core, never the same on two, and below the
///    length of [`pointers`](Self::pointers).
/// 2. `pointers` is always the same slice.
pub unsafe trait CoreNumber: 'static {
    /// The number of the core that calls.
    fn number() -> usize;

    /// A place for each core, in a `static`.
    fn pointers() -> &'static [CorePointer];
}

/// Finds a core's pointer by the core's number.
pub struct Numbered<T>(PhantomData<fn() -> T>);

// SAFETY: 1. a core has a place of its own, by the obligations of `CoreNumber`.
unsafe impl<T: CoreNumber> CoreLocal for Numbered<T> {
    fn get() -> *const () {
        // Ordering: Relaxed here and below, only the core itself uses its place.
        T::pointers()[T::number()].0.load(Ordering::Relaxed)
    }

    unsafe fn set(pointer: *const ()) {
        T::pointers()[T::number()]
            .0
            .store(pointer.cast_mut(), Ordering::Relaxed);
    }
}

impl<T> fmt::Debug for Numbered<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Numbered")
    }
}

/// One core's pointer.
#[derive(Debug)]
pub struct CorePointer(AtomicPtr<()>);

impl CorePointer {
    /// Null.
    #[must_use]
    pub const fn new() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }
}

impl Default for CorePointer {
    fn default() -> Self {
        Self::new()
    }
}
