//! When the process registers for barriers by the system, if that is not quick.
//!
//! In a process of several threads it takes Linux some ten milliseconds, for which the caller
//! sleeps in the kernel. So it is left to a worker that sleeps anyway, or, in a pool whose workers
//! never sleep, to one that has popped thousands of jobs; and both wait until the process has lived
//! for a while. No thread is started for it: a program may have reasons to start all threads
//! itself.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use super::ProcessBarrier;
use crate::sync::First;

/// A process that ends sooner must not wait for the system's answer: it cannot end before.
const SHORT_LIFE: Duration = Duration::from_millis(100);

/// When the first pool was built that could not register at once.
static BEGIN: First<Instant> = First::new();
/// A worker registers, or sleeps until it is time to.
static IS_WATCHED: AtomicBool = AtomicBool::new(false);

/// Leaves the registration to the workers.
pub(super) fn begin() {
    BEGIN.get_or_set(Instant::now);
}

/// Registers if it is time to, and no other thread does. For an owner of a deque that has popped
/// many elements.
#[cold]
pub(crate) fn register_if_due() {
    if let Some(watch) = Watch::begin().filter(|watch| watch.remaining().is_zero()) {
        watch.register();
    }
}

/// The duty to register, of one thread at a time.
pub(crate) struct Watch {
    begin: Instant,
}

impl Watch {
    /// Takes the duty. None if there is nothing to do, or another thread has it.
    #[cold]
    pub(crate) fn begin() -> Option<Self> {
        let begin = *BEGIN.get()?;
        // Ordering: Relaxed here and below, nothing else depends on it.
        let is_ours = !ProcessBarrier::is_known() && !IS_WATCHED.swap(true, Ordering::Relaxed);
        is_ours.then_some(Self { begin })
    }

    /// Returns the time until this thread should register.
    pub(crate) fn remaining(&self) -> Duration {
        SHORT_LIFE.saturating_sub(self.begin.elapsed())
    }

    pub(crate) fn register(self) {
        let _is_known = ProcessBarrier::is_by_system();
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        IS_WATCHED.store(false, Ordering::Relaxed);
    }
}
