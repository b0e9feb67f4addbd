//! Values of `TLV` that are numbers.

use std::ptr;

use rayon_core::tlv::TLV;

/// Returns the value of this thread.
pub(crate) fn value() -> usize {
    TLV.get().addr()
}

/// Sets the value of this thread, and returns the one before.
pub(crate) fn set(value: usize) -> usize {
    TLV.replace(ptr::without_provenance(value)).addr()
}

/// Calls a closure with a value, and restores the one before.
pub(crate) fn with<R>(value: usize, closure: impl FnOnce() -> R) -> R {
    let before = set(value);
    let result = closure();
    set(before);
    result
}
