//! What a worker does for its pool and its process while it sleeps.

use std::time::Duration;

use crate::{
    fence::Watch,
    thread_pool::crowd::{Crowd, Watchdog},
};

/// What a worker, or another thread that waits, does before each sleep: it does what is due, and
/// returns for how long it may sleep at most. It takes on its duties when it sleeps, and not
/// before.
///
/// A worker may be the watchdog of its pool; other threads are not.
pub(super) fn alarm(crowd: Option<&Crowd>) -> impl FnMut() -> Option<Duration> {
    let mut alarms = None;
    move || {
        let alarms: &mut Alarms<'_> = alarms.get_or_insert_with(|| Alarms::begin(crowd));
        alarms.ring()
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
