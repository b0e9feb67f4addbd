//! What a worker does while it sleeps in a futex.

use std::time::Duration;

use crate::{
    fence::Watch,
    thread_pool::crowd::{Crowd, Watchdog},
};

/// The duties that a worker takes on when it falls asleep, and gives up when it is woken.
pub(super) struct Alarms<'c> {
    /// To register the process for barriers by the system.
    registration: Option<Watch>,
    /// To check whether jobs wait while processors are idle.
    watchdog: Option<Watchdog<'c>>,
}

impl<'c> Alarms<'c> {
    /// Takes the duties that no other thread has.
    pub(super) fn begin(crowd: Option<&'c Crowd>) -> Self {
        Self {
            registration: Watch::begin(),
            watchdog: crowd.and_then(Watchdog::begin),
        }
    }

    /// Does what is due. Returns how long it takes until something else is, if anything will be.
    pub(super) fn ring(&mut self) -> Option<Duration> {
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
