//! The atomics and fences that this crate uses, real or loom's, and what only this crate needs of
//! that kind.

pub(crate) use sleep_primitives::{
    AtomicBool, AtomicPtr, AtomicUsize, Ordering, full_fence, spin_loop,
};

#[cfg(all(test, loom))]
pub(crate) use crate::testing::interrupt::interruption_point;

/// Marks where a process fence of another thread may take effect in a model, and where a test may
/// delay.
#[cfg(not(all(test, loom)))]
#[inline]
pub(crate) fn interruption_point() {
    #[cfg(all(test, feature = "alloc"))]
    {
        crate::testing::delay();
        crate::testing::interrupt();
    }
}

/// Keeps the compiler from reordering memory accesses: the light half of a process fence.
#[inline]
pub(crate) fn light_fence() {
    core::sync::atomic::compiler_fence(core::sync::atomic::Ordering::SeqCst);
    interruption_point();
}

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

    /// Spins for a while, longer with each call.
    #[inline]
    pub(crate) fn spin(&self) {
        self.spins.spin();
    }

    /// Lets the other thread run. That thread may have a lower real-time priority, and then
    /// yielding does not help: so after many yields this sleeps, but not in a browser, whose main
    /// thread must not.
    pub(crate) fn snooze(&self) {
        #[cfg(feature = "std")]
        if self.spins.is_completed() {
            const YIELDS: u32 = 64;
            const NAP: core::time::Duration = core::time::Duration::from_micros(50);
            const MAY_SLEEP: bool = !cfg!(all(target_family = "wasm", target_os = "unknown"));
            if self.yields.get() < YIELDS {
                self.yields.set(self.yields.get() + 1);
            } else if MAY_SLEEP {
                std::thread::sleep(NAP);
                return;
            }
        }
        self.spins.snooze();
    }
}

/// Replaces crossbeam's back-off in models, where loom must know that a thread waits.
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

/// Stands for memory in models, because loom follows neither boxes nor what relaxed atomics
/// publish. Each use must happen before the change that follows it, and after the change before it.
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
    #[allow(clippy::unused_self)]
    pub(crate) const fn note_use(&self) {}

    #[inline]
    #[allow(clippy::unused_self)]
    pub(crate) const fn note_change(&self) {}
}
