//! Slots that are stored in the protocol itself.

use core::{fmt, ops::Deref};

/// The slots of `N` workers, stored in the value itself: where `from_array` puts them.
///
/// # Examples
/// ```
/// use sleep_core::{IdlePolicy, Inline, Jec, Parker, Slot};
///
/// struct Core;
/// impl Parker for Core {
///     fn park(&self) { /* WFE */ }
///     fn unpark(&self) { /* SEV */ }
/// }
///
/// static SLEEP: Jec<Inline<Slot<Core>, 4>> =
///     Jec::from_array([const { Slot::new(Core) }; 4], IdlePolicy::IMMEDIATE);
/// assert_eq!(SLEEP.slots().len(), 4);
/// ```
pub struct Inline<T, const N: usize>(pub(super) [T; N]);

impl<T, const N: usize> Deref for Inline<T, N> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T: fmt::Debug, const N: usize> fmt::Debug for Inline<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
