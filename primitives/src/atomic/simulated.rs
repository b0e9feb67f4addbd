//! Atomics that announce each access before they make it.
//!
//! The operations themselves are those of `core`, with the caller's orderings. So a thread that has
//! no hook runs the code as it ships.

use core::sync::atomic;
pub use core::sync::atomic::Ordering;

use crate::simulate::{Access, announce};

/// Executes a fence, which the simulator prices if it is sequentially consistent.
#[inline]
#[track_caller]
pub fn fence(order: Ordering) {
    if order == Ordering::SeqCst {
        announce(Access::Fence, 0);
    }
    atomic::fence(order);
}

/// Announces that the processor is told that this thread spins.
#[inline]
#[track_caller]
pub fn spin_loop() {
    announce(Access::Spin, 0);
}

macro_rules! atomic {
    ($(#[$doc:meta])* $name:ident $(<$param:ident>)?, $value:ty) => {
        $(#[$doc])*
        #[repr(transparent)]
        pub struct $name $(<$param>)? (atomic::$name $(<$param>)?);

        impl $(<$param>)? $name $(<$param>)? {
            /// Creates an atomic with this value.
            #[inline]
            pub const fn new(value: $value) -> Self {
                Self(atomic::$name::new(value))
            }

            /// Returns a reference to the value, which no other thread uses.
            #[inline]
            pub fn get_mut(&mut self) -> &mut $value {
                self.0.get_mut()
            }

            /// Returns the value.
            #[inline]
            pub fn into_inner(self) -> $value {
                self.0.into_inner()
            }

            #[inline]
            #[track_caller]
            fn announce(&self, access: Access) {
                announce(access, self.0.as_ptr() as usize);
            }

            /// Loads the value.
            #[inline]
            #[track_caller]
            pub fn load(&self, order: Ordering) -> $value {
                self.announce(Access::Load);
                self.0.load(order)
            }

            /// Stores a value.
            #[inline]
            #[track_caller]
            pub fn store(&self, value: $value, order: Ordering) {
                // Such a store is a locked exchange on x86.
                let access = if order == Ordering::SeqCst { Access::Exchange } else { Access::Store };
                self.announce(access);
                self.0.store(value, order);
            }

            /// Replaces the value and returns the old one.
            #[inline]
            #[track_caller]
            pub fn swap(&self, value: $value, order: Ordering) -> $value {
                self.announce(Access::Exchange);
                self.0.swap(value, order)
            }

            /// Replaces the value if it is the current one.
            ///
            /// # Errors
            /// The value that is there.
            #[inline]
            #[track_caller]
            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                self.announce(Access::Exchange);
                self.0.compare_exchange(current, new, success, failure)
            }

            /// Replaces the value if it is the current one. Here it never fails without a reason,
            /// so that a run can be repeated.
            ///
            /// # Errors
            /// The value that is there.
            #[inline]
            #[track_caller]
            pub fn compare_exchange_weak(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                self.compare_exchange(current, new, success, failure)
            }

            /// Replaces the value by what a function makes of it, until no other thread was faster.
            ///
            /// # Errors
            /// The value for which the function returned `None`.
            #[inline]
            #[track_caller]
            pub fn fetch_update(
                &self,
                set: Ordering,
                fetch: Ordering,
                mut update: impl FnMut($value) -> Option<$value>,
            ) -> Result<$value, $value> {
                let mut value = self.load(fetch);
                while let Some(next) = update(value) {
                    match self.compare_exchange(value, next, set, fetch) {
                        Ok(before) => return Ok(before),
                        Err(now) => value = now,
                    }
                }
                Err(value)
            }
        }

        impl $(<$param>)? core::fmt::Debug for $name $(<$param>)? {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

macro_rules! fetch {
    ($name:ident, $value:ty: $($function:ident)*) => {
        impl $name {
            $(
                /// Combines the value with another one as the method of `core` does. Returns the
                /// old value.
                #[inline]
                #[track_caller]
                pub fn $function(&self, value: $value, order: Ordering) -> $value {
                    self.announce(Access::Exchange);
                    self.0.$function(value, order)
                }
            )*
        }
    };
}

macro_rules! integer {
    ($($name:ident, $value:ty;)*) => {
        $(
            atomic!(/// An atomic integer.
                $name, $value);
            fetch!($name, $value: fetch_add fetch_sub fetch_and fetch_or fetch_xor fetch_max fetch_min);
        )*
    };
}

atomic!(/// An atomic truth value.
    AtomicBool, bool);
fetch!(AtomicBool, bool: fetch_and fetch_or fetch_xor);
atomic!(/// An atomic pointer.
    AtomicPtr<T>, *mut T);
integer! {
    AtomicU8, u8;
    AtomicU32, u32;
    AtomicU64, u64;
    AtomicUsize, usize;
}

pub use AtomicU64 as AtomicWord;

impl<T> AtomicPtr<T> {
    /// Creates a reference to an atomic at an address.
    ///
    /// # Safety
    /// 1. As for the function of `core`.
    #[inline]
    pub const unsafe fn from_ptr<'a>(pointer: *mut *mut T) -> &'a Self {
        // SAFETY: the type is transparent, so an atomic of `core` is one of ours; the rest is
        // obligation 1, which is forwarded to our caller.
        unsafe { &*pointer.cast::<Self>() }
    }
}
