//! The one place where this crate chooses its atomics.
//!
//! - normally: `portable-atomic`, which is `core::sync::atomic` where the target has what we need
//!   and something equivalent where it has not;
//! - under `--cfg loom` with the feature `loom`: loom's, so that models explore every interleaving of the code that ships.

#[cfg(all(loom, not(feature = "loom")))]
compile_error!("`--cfg loom` needs the feature `loom` too: `--features loom`");

#[cfg(loom)]
pub(crate) use loom::hint::spin_loop;
#[cfg(loom)]
use loom::sync::atomic::fence;
#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

#[cfg(not(loom))]
pub(crate) use core::hint::spin_loop;
#[cfg(all(not(loom), any(not(target_arch = "x86_64"), miri)))]
use portable_atomic::fence;
#[cfg(not(loom))]
pub(crate) use portable_atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

/// How a thread waits for another one that is in the middle of an operation.
#[cfg(all(not(loom), feature = "alloc"))]
pub(crate) struct Backoff {
    spins: crossbeam_utils::Backoff,
    #[cfg(feature = "std")]
    yields: core::cell::Cell<u32>,
}

#[cfg(all(not(loom), feature = "alloc"))]
impl Backoff {
    pub(crate) fn new() -> Self {
        Self {
            spins: crossbeam_utils::Backoff::new(),
            #[cfg(feature = "std")]
            yields: core::cell::Cell::new(0),
        }
    }

    /// Stays away for a while, longer each time.
    #[inline]
    pub(crate) fn spin(&self) {
        self.spins.spin();
    }

    /// Lets the other thread run. That thread may have a lower real-time priority, so that yielding is no
    /// help: after many yields this sleeps.
    pub(crate) fn snooze(&self) {
        #[cfg(feature = "std")]
        if self.spins.is_completed() {
            const YIELDS: u32 = 64;
            const NAP: core::time::Duration = core::time::Duration::from_micros(50);
            if self.yields.get() == YIELDS {
                std::thread::sleep(NAP);
                return;
            }
            self.yields.set(self.yields.get() + 1);
        }
        self.spins.snooze();
    }
}

/// In place of crossbeam's, which loom would not know for waiting.
#[cfg(all(loom, feature = "alloc"))]
pub(crate) struct Backoff;

#[cfg(all(loom, feature = "alloc"))]
impl Backoff {
    pub(crate) fn new() -> Self {
        Self
    }

    pub(crate) fn spin(&self) {
        spin_loop();
    }

    pub(crate) fn snooze(&self) {
        spin_loop();
    }
}

/// Stands for memory in models, which follow neither boxes nor what relaxed atomics hand over: each use
/// must happen before the change that follows it, and after the one before it.
#[cfg(all(loom, feature = "alloc"))]
pub(crate) struct Tracked(loom::cell::UnsafeCell<()>);

#[cfg(all(not(loom), feature = "alloc"))]
pub(crate) struct Tracked;

#[cfg(all(loom, feature = "alloc"))]
impl Tracked {
    pub(crate) fn new() -> Self {
        Self(loom::cell::UnsafeCell::new(()))
    }

    /// Notes that this thread reads the memory, or changes it by atomics.
    pub(crate) fn note_use(&self) {
        self.0.with(|_| ());
    }

    /// Notes that this thread changes the memory or frees it.
    pub(crate) fn note_change(&self) {
        self.0.with_mut(|_| ());
    }
}

#[cfg(all(not(loom), feature = "alloc"))]
impl Tracked {
    #[inline]
    pub(crate) const fn new() -> Self {
        Self
    }

    #[inline]
    #[allow(clippy::unused_self)]
    pub(crate) const fn note_use(&self) {}

    #[inline]
    #[allow(clippy::unused_self)]
    pub(crate) const fn note_change(&self) {}
}

/// Defines a function that is `const` except under loom, whose atomics cannot be made in a
/// constant.
macro_rules! const_unless_loom {
    ($(#[$meta:meta])* $vis:vis fn $($rest:tt)*) => {
        #[cfg(not(loom))]
        $(#[$meta])*
        $vis const fn $($rest)*

        #[cfg(loom)]
        $(#[$meta])*
        $vis fn $($rest)*
    };
}

#[cfg(all(test, loom))]
pub(crate) use crate::interrupt::interruption_point;

/// Where a model may let a process fence of another thread take effect, and a test may delay.
#[cfg(not(all(test, loom)))]
#[inline]
pub(crate) fn interruption_point() {
    #[cfg(all(test, feature = "alloc"))]
    {
        crate::testing::delay();
        crate::testing::interrupt();
    }
}

/// Keeps the compiler from letting accesses change places: the light half of a process fence.
#[inline]
pub(crate) fn light_fence() {
    core::sync::atomic::compiler_fence(core::sync::atomic::Ordering::SeqCst);
    interruption_point();
}

/// A sequentially consistent fence.
#[cfg(any(not(target_arch = "x86_64"), loom, miri))]
#[inline]
pub(crate) fn full_fence() {
    fence(Ordering::SeqCst);
}

/// A sequentially consistent fence.
///
/// The compiler makes `MFENCE` of the portable fence. Any locked instruction orders all loads and
/// stores of ordinary memory as well, at less than half the price.
#[cfg(not(any(not(target_arch = "x86_64"), loom, miri)))]
#[inline]
pub(crate) fn full_fence() {
    // A word of its own: one that the frame uses would be read back by its next instructions, which
    // then wait for the fence.
    let mut word = 0_u32;
    // SAFETY: adds nothing to the word, so changes no memory; for the compiler it is a call that
    // may read and write any memory, since it is not marked otherwise.
    unsafe {
        core::arch::asm!("lock or dword ptr [{}], 0", in(reg) &raw mut word, options(nostack));
    }
}
