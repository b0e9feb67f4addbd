//! Where the lines of an instance are.

#[cfg(feature = "alloc")]
use alloc::boxed::Box;

use crate::line::Line;

/// A place for the [`Line`]s of one [`Progress`](crate::Progress).
///
/// An array, a box with a slice, or a slice that is borrowed exclusively: two instances must not
/// share lines. For any other place the trait has to be implemented.
///
/// # Safety
/// 1. `as_ref` gives the same lines each time: also after the value was moved, except that lines
///    which are part of the value move with it.
/// 2. No other instance is made of any of these lines as long as the value lives.
pub unsafe trait Lines<P>: AsRef<[Line<P>]> {}

// SAFETY: 1. an array gives itself, and moves with its lines; an instance that is in use does not
// move. 2. the lines are its own.
unsafe impl<P, const N: usize> Lines<P> for [Line<P>; N] {}

// SAFETY: 1. the box leads to the same memory, wherever it is itself; 2. it owns the lines.
#[cfg(feature = "alloc")]
unsafe impl<P> Lines<P> for Box<[Line<P>]> {}

// SAFETY: 1. the reference leads to the same memory, wherever it is itself; 2. it is exclusive.
unsafe impl<P> Lines<P> for &mut [Line<P>] {}
