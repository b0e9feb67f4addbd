//! Finding the current worker: one pointer for each core, in an array or in a register that the
//! architecture leaves to the software.

#[cfg(any(
    target_arch = "aarch64",
    target_arch = "riscv32",
    target_arch = "riscv64"
))]
use core::arch::asm;
use core::{fmt, marker::PhantomData, ptr};

use crate::primitive::{AtomicPtr, Ordering};

/// One pointer for each core: how a job finds out on which worker it runs.
///
/// On a board, a register that the software may use as it likes (`TPIDR_EL1`, `mscratch`), or
/// [`Numbered`]: an array indexed by the core's number. On a host, a thread-local variable.
///
/// Pools of different types may share one; a core is a worker of one pool at a time. A worker that
/// waits for a pool of another type does nothing else meanwhile: let pools of different types not
/// wait for each other in a circle.
///
/// # Safety
/// 1. [`get`](Self::get) returns what [`set`](Self::set) was last given on the same core, or null
///    if there was nothing.
pub unsafe trait CoreLocal: 'static {
    /// This core's pointer.
    fn get() -> *const ();

    /// Changes this core's pointer.
    ///
    /// # Safety
    /// 1. Only a pool calls this: it follows the pointer.
    unsafe fn set(pointer: *const ());
}

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

/// A core-local pointer in one register. The instructions touch no memory; they are ordered among
/// each other since none is `pure`.
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

        // SAFETY: 1. the register is the core's own, and whoever names this type in a `Machine` promises
        // the rest.
        unsafe impl CoreLocal for $name {
            #[inline]
            fn get() -> *const () {
                let pointer;
                // SAFETY: reads one register, and changes neither memory, stack nor flags.
                unsafe { asm!($read, out(reg) pointer, options(nomem, nostack, preserves_flags)) };
                pointer
            }

            #[inline]
            unsafe fn set(pointer: *const ()) {
                // SAFETY: as in `get`; nobody else gives the register a meaning.
                unsafe { asm!($write, in(reg) pointer, options(nomem, nostack, preserves_flags)) };
            }
        }
    };
}

#[cfg(target_arch = "aarch64")]
register!(
    /// The pointer is in `TPIDR_EL1`, which must hold null when the core first uses the pool, and
    /// be used for nothing else. Software at EL1.
    TpidrEl1,
    "mrs {}, tpidr_el1",
    "msr tpidr_el1, {}"
);

#[cfg(any(target_arch = "riscv32", target_arch = "riscv64"))]
register!(
    /// The pointer is in `mscratch`, which must hold null when the core first uses the pool, and
    /// be used for nothing else, by no trap handler either. Software in machine mode.
    Mscratch,
    "csrr {}, mscratch",
    "csrw mscratch, {}"
);

#[cfg(any(target_arch = "riscv32", target_arch = "riscv64"))]
register!(
    /// The pointer is in `sscratch`, which must hold null when the core first uses the pool, and
    /// be used for nothing else, by no trap handler either. Software in supervisor mode.
    Sscratch,
    "csrr {}, sscratch",
    "csrw sscratch, {}"
);
