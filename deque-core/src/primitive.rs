//! The atomics and fences that this crate uses, from the crate that chooses them: real ones, or
//! loom's. And what only this crate needs of that kind.

pub(crate) use sleep_primitives::{
    AtomicBool, AtomicPtr, AtomicUsize, Ordering, full_fence, spin_loop,
};

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
