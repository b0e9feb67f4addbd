//! Parkers for Linux: one word for each token, and no system call unless a thread sleeps.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use crate::{
    fence::Watch,
    linux::{futex_wait, futex_wake_one},
    thread_pool::crowd::{Crowd, Watchdog},
};

/// The tokens of a worker and of its guest, and the pool of which it may be the watchdog.
pub(crate) struct Futexes {
    pub(super) own: FutexParker,
    pub(super) guest: FutexParker,
    pub(super) crowd: Option<Arc<Crowd>>,
}

impl Futexes {
    pub(super) fn new(crowd: Option<Arc<Crowd>>) -> Self {
        Self {
            own: FutexParker::new(),
            guest: FutexParker::new(),
            crowd,
        }
    }

    /// Returns what a thread does while it sleeps. It takes on its duties when it sleeps, and not
    /// before.
    pub(super) fn alarm(crowd: Option<&Crowd>) -> impl FnMut() -> Option<Duration> {
        let mut alarms = None;
        move || {
            let alarms: &mut Alarms<'_> = alarms.get_or_insert_with(|| Alarms::begin(crowd));
            alarms.ring()
        }
    }
}

/// No thread waits, and there is no token.
const EMPTY: u32 = 0;
/// The token is there.
const TOKEN: u32 = 1;
/// The worker sleeps, or is about to.
const WAITING: u32 = u32::MAX;

/// A token in a futex word.
pub(crate) struct FutexParker {
    state: AtomicU32,
}

impl FutexParker {
    pub(crate) const fn new() -> Self {
        Self {
            state: AtomicU32::new(EMPTY),
        }
    }
}

impl FutexParker {
    /// Waits for the token. Before each sleep, `alarm` does what is due by now, and returns for how
    /// long the thread may sleep at most.
    pub(super) fn park(&self, mut alarm: impl FnMut() -> Option<Duration>) {
        // From TOKEN to EMPTY, or from EMPTY to WAITING.
        //
        // Ordering: Acquire pairs with `unpark`: what its caller wrote is visible. The same holds
        // for the exchange below.
        if self.state.fetch_sub(1, Ordering::Acquire) == TOKEN {
            return;
        }
        loop {
            // An `unpark` that comes meanwhile leaves its token.
            let limit = alarm();
            // Liveness: the kernel compares the word with WAITING before it puts us to sleep, so
            // an `unpark` that comes first makes this return; one that comes later finds WAITING
            // and wakes us. Errors (the word has changed, a signal, the time is over) mean that we
            // look again.
            futex_wait(&self.state, WAITING, limit);
            if self
                .state
                .compare_exchange(TOKEN, EMPTY, Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
            {
                return;
            }
        }
    }

    pub(super) fn unpark(&self) {
        // Ordering: Release pairs with `park`.
        if self.state.swap(TOKEN, Ordering::Release) == WAITING {
            // The worker is the only thread that ever sleeps on this word.
            futex_wake_one(&self.state);
        }
    }
}

/// The duties that a worker takes on when it falls asleep, and gives up when it is woken.
struct Alarms<'c> {
    /// To register the process for barriers by the system.
    registration: Option<Watch>,
    /// To check whether jobs wait while processors are idle.
    watchdog: Option<Watchdog<'c>>,
}

impl<'c> Alarms<'c> {
    /// Takes the duties that no other thread has.
    fn begin(crowd: Option<&'c Crowd>) -> Self {
        Self {
            registration: Watch::begin(),
            watchdog: crowd.and_then(Watchdog::begin),
        }
    }

    /// Does what is due. Returns how long it takes until something else is, if anything will be.
    fn ring(&mut self) -> Option<Duration> {
        let mut registration = self.registration.as_ref().map(Watch::remaining);
        if registration.is_some_and(|limit| limit.is_zero()) {
            if let Some(watch) = self.registration.take() {
                watch.register();
            }
            registration = None;
        }
        let check = self.watchdog.as_mut().and_then(Watchdog::remaining);
        if check.is_none() {
            self.watchdog = None;
        }
        [registration, check].into_iter().flatten().min()
    }
}
