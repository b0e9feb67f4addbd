//! Interruptions of one thread at whatever instruction it is.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use nix::{
    sys::{
        signal::{
            SaFlags, SigAction, SigEvent, SigHandler, SigSet, SigevNotify, Signal, sigaction,
        },
        time::TimeSpec,
        timer::{Expiration, Timer, TimerSetTimeFlags},
    },
    time::{ClockId, clock_gettime},
    unistd::gettid,
};

const SIGNAL: Signal = Signal::SIGUSR1;
/// For how long the thread is held.
const HELD: Duration = Duration::from_millis(2);

/// The thread was held, and nothing has asked since.
static HAS_STRUCK: AtomicBool = AtomicBool::new(false);

/// A timer that interrupts the thread that made it.
pub(super) struct Interruptions {
    timer: Timer,
}

impl Interruptions {
    /// There is one at a time.
    pub(super) fn of_this_thread() -> Self {
        let action = SigAction::new(
            SigHandler::Handler(hold),
            SaFlags::SA_RESTART,
            SigSet::empty(),
        );
        // SAFETY: the handler reads a clock and writes an atomic, which a handler may.
        unsafe { sigaction(SIGNAL, &action) }.expect("a signal that may be handled");
        let event = SigEvent::new(SigevNotify::SigevThreadId {
            signal: SIGNAL,
            thread_id: gettid().as_raw(),
            si_value: 0,
        });
        let timer = Timer::new(ClockId::CLOCK_MONOTONIC, event).expect("a timer");
        HAS_STRUCK.store(false, Ordering::Relaxed);
        Self { timer }
    }

    /// Interrupts the thread once, so much later.
    pub(super) fn next_after(&mut self, time: Duration) {
        // Zero would disarm the timer.
        let time = TimeSpec::from_duration(time.max(Duration::from_nanos(1)));
        let (once, flags) = (Expiration::OneShot(time), TimerSetTimeFlags::empty());
        self.timer.set(once, flags).expect("a time");
    }
}

/// Whether the thread was interrupted since the last call.
pub(super) fn has_struck() -> bool {
    // The look first, since that is what most calls are.
    HAS_STRUCK.load(Ordering::Relaxed) && HAS_STRUCK.swap(false, Ordering::Relaxed)
}

/// Holds the thread, as the system does when it gives the processor to another process.
extern "C" fn hold(_: i32) {
    let now = || clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(Duration::MAX, Duration::from);
    let start = now();
    while now().saturating_sub(start) < HELD {}
    HAS_STRUCK.store(true, Ordering::Relaxed);
}
