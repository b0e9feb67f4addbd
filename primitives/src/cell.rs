//! Cells whose uses loom checks.

#[cfg(loom)]
pub use loom::cell::UnsafeCell;

/// A cell with loom's interface, so that a model can check its uses.
#[cfg(not(loom))]
#[derive(Debug)]
#[repr(transparent)]
pub struct UnsafeCell<T>(core::cell::UnsafeCell<T>);

#[cfg(not(loom))]
impl<T> UnsafeCell<T> {
    /// Creates a cell.
    #[inline]
    pub const fn new(value: T) -> Self {
        Self(core::cell::UnsafeCell::new(value))
    }

    /// Calls a function with a pointer through which it may read the value.
    #[inline]
    #[cfg_attr(simulate, track_caller)]
    pub fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
        #[cfg(simulate)]
        crate::simulate::announce(crate::simulate::Access::Load, self.0.get() as usize);
        read(self.0.get())
    }

    /// Calls a function with a pointer through which it may change the value.
    #[inline]
    #[cfg_attr(simulate, track_caller)]
    pub fn with_mut<R>(&self, change: impl FnOnce(*mut T) -> R) -> R {
        #[cfg(simulate)]
        crate::simulate::announce(crate::simulate::Access::Store, self.0.get() as usize);
        change(self.0.get())
    }
}

/// Custody of something that has one owner at a time and is handed over by atomics: empty, except
/// under loom, where it is a cell.
///
/// Each owner calls [`hold`](Self::hold) while it is the owner. Loom reports two owners whose
/// hand-over nothing orders. A model cannot see such a gap otherwise if the thing is changed only
/// by exchanges, because an exchange in loom always acts on the newest value.
pub struct Custody {
    #[cfg(loom)]
    cell: UnsafeCell<()>,
}

// SAFETY: the cell holds nothing that could be read or written.
#[cfg(loom)]
unsafe impl Sync for Custody {}

impl Custody {
    const_unless_loom! {
        /// Creates custody that no thread holds.
        #[allow(clippy::new_without_default)]
        pub fn new() -> Self {
            Self {
                #[cfg(loom)]
                cell: UnsafeCell::new(()),
            }
        }
    }

    /// Notes that the calling thread is the owner now.
    #[inline(always)]
    pub fn hold(&self) {
        #[cfg(loom)]
        self.cell.with_mut(|_| ());
    }
}

impl core::fmt::Debug for Custody {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Custody")
    }
}

#[cfg(all(test, loom))]
mod tests;
