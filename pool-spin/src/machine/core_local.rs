//! How a core finds its worker: one pointer per core, in an array or in a register that the
//! architecture leaves to software.

#[cfg(any(
    target_arch = "aarch64",
    target_arch = "riscv32",
    target_arch = "riscv64"
))]
use core::arch::asm;
use core::{fmt, marker::PhantomData, ptr, sync::atomic::compiler_fence};

use crate::primitive::{AtomicPtr, Ordering};

/// One pointer per core, from which a job learns on which worker it runs.
///
/// On a board, the pointer is in a register that software may use as it likes (`TPIDR_EL1`,
/// `mscratch`), or in an array that the core's number indexes: [`Numbered`]. On a host, it is in a
/// thread-local variable.
///
/// Pools of different types may share one pointer; a core is a worker of one pool at a time. A
/// worker that waits for a pool of another type runs no jobs meanwhile. So pools of different types
/// must not wait for each other in a cycle.
///
/// # Examples
/// ```
/// use std::{cell::Cell, ptr};
///
/// use pool_spin::CoreLocal;
///
/// thread_local!(static POINTER: Cell<*const ()> = const { Cell::new(ptr::null()) });
///
/// struct ThreadLocal;
///
/// // SAFETY: 1. Each thread has a variable of its own, which nothing else writes.
/// unsafe impl CoreLocal for ThreadLocal {
///     fn get() -> *const () {
///         POINTER.get()
///     }
///
///     unsafe fn set(pointer: *const ()) {
///         POINTER.set(pointer);
///     }
/// }
/// ```
///
/// # Safety
/// 1. [`get`](Self::get) returns the pointer that [`set`](Self::set) was last called with on the
///    same core, or null if it was not called.
#[doc(alias = "thread_local")]
pub unsafe trait CoreLocal: 'static {
    /// Returns this core's pointer.
    fn get() -> *const ();

    /// Sets this core's pointer.
    ///
    /// The compiler must not move accesses to memory across the call: an interrupt handler of this
    /// core that finds the pointer may read the worker that it leads to.
    ///
    /// # Safety
    /// 1. Only a pool calls this: pools dereference the pointer.
    unsafe fn set(pointer: *const ());
}

/// Cores that know their number, for [`Numbered`]: from `MPIDR`, `mhartid`, a CPU identity
/// register, or an APIC ID.
///
/// # Safety
/// 1. [`number`](Self::number) always returns the same number on one core, never the same on two,
///    and always less than the length of [`pointers`](Self::pointers).
/// 2. `pointers` always returns the same slice.
///
/// # Examples
/// See [`Machine`](crate::Machine).
pub unsafe trait CoreNumber: 'static {
    /// Returns the number of the calling core.
    fn number() -> usize;

    /// Returns one pointer per core, in a `static`.
    fn pointers() -> &'static [CorePointer];
}

/// A [`CoreLocal`] pointer in an array that the core's number indexes.
///
/// # Examples
/// See [`Machine`](crate::Machine).
pub struct Numbered<T>(PhantomData<fn() -> T>);

// SAFETY: 1. By the obligations of `CoreNumber`, each core has an element of its own.
unsafe impl<T: CoreNumber> CoreLocal for Numbered<T> {
    fn get() -> *const () {
        // Ordering: Relaxed here and below; only the core itself uses its pointer.
        T::pointers()[T::number()].0.load(Ordering::Relaxed)
    }

    unsafe fn set(pointer: *const ()) {
        let place = &T::pointers()[T::number()].0;
        // Ordering: these fences pair with nothing on another core. They keep the compiler from
        // moving the worker's initialization behind the store, and the end of its frame before it:
        // a handler of this core may come in between.
        compiler_fence(Ordering::SeqCst);
        place.store(pointer.cast_mut(), Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
    }
}

impl<T> fmt::Debug for Numbered<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Numbered")
    }
}

/// One core's pointer, for [`CoreNumber::pointers`].
///
/// # Examples
/// See [`Machine`](crate::Machine).
#[derive(Debug)]
pub struct CorePointer(AtomicPtr<()>);

impl CorePointer {
    /// Creates a null pointer.
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

/// Defines a [`CoreLocal`] pointer in one register. The compiler keeps the order of the
/// instructions, since none is `pure`.
#[cfg(any(
    target_arch = "aarch64",
    target_arch = "riscv32",
    target_arch = "riscv64"
))]
macro_rules! register {
    ($(#[$meta:meta])* $name:ident, $read:literal, $write:literal) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy)]
        pub struct $name(());

        // SAFETY: 1. Each core has the register; the author of a `Machine` that names this type
        // promises the rest.
        unsafe impl CoreLocal for $name {
            #[inline]
            fn get() -> *const () {
                let pointer;
                // SAFETY: reads one register, and changes no memory, stack or flags.
                unsafe { asm!($read, out(reg) pointer, options(nomem, nostack, preserves_flags)) };
                pointer
            }

            #[inline]
            unsafe fn set(pointer: *const ()) {
                // For the compiler this may access any memory: what a handler of this core finds by
                // the pointer is written before, and not reused before.
                //
                // SAFETY: as in `get`; no other software uses the register.
                unsafe { asm!($write, in(reg) pointer, options(nostack, preserves_flags)) };
            }
        }
    };
}

#[cfg(target_arch = "aarch64")]
register!(
    /// A [`CoreLocal`] pointer in `TPIDR_EL1`, for software at EL1.
    ///
    /// The register must hold null when the core first uses the pool, and be used for nothing else.
    TpidrEl1,
    "mrs {}, tpidr_el1",
    "msr tpidr_el1, {}"
);

#[cfg(any(target_arch = "riscv32", target_arch = "riscv64"))]
register!(
    /// A [`CoreLocal`] pointer in `mscratch`, for software in machine mode.
    ///
    /// The register must hold null when the core first uses the pool, and be used for nothing else,
    /// not even by a trap handler.
    Mscratch,
    "csrr {}, mscratch",
    "csrw mscratch, {}"
);

#[cfg(any(target_arch = "riscv32", target_arch = "riscv64"))]
register!(
    /// A [`CoreLocal`] pointer in `sscratch`, for software in supervisor mode.
    ///
    /// The register must hold null when the core first uses the pool, and be used for nothing else,
    /// not even by a trap handler.
    Sscratch,
    "csrr {}, sscratch",
    "csrw sscratch, {}"
);
