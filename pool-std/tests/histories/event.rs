//! Events for which workers wait.

use std::sync::{
    Condvar, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, Ordering::SeqCst},
};

use pool_std::{Blocked, blocking, mark_blocked};

/// An event, and the workers that wait for it.
#[derive(Default)]
pub(crate) struct Event {
    waiting: Mutex<Vec<Blocked>>,
    pub(crate) opened: Condvar,
    /// Changed under the lock; read without it by the handler.
    pub(crate) is_open: AtomicBool,
}

impl Event {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Vec<Blocked>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn wait(&self, number: usize, in_section: bool) {
        let label = number.to_string();
        // Under the lock, so that the thread which brings about the event finds the ticket.
        let mut waiting = self.lock();
        if self.is_open.load(SeqCst) {
            return;
        }
        if in_section {
            blocking(label, |blocked| {
                waiting.push(blocked.clone());
                self.wait_until_open(waiting);
            });
        } else {
            waiting.push(mark_blocked(label).unwrap());
            self.wait_until_open(waiting);
        }
    }

    pub(crate) fn wait_until_open(&self, waiting: MutexGuard<'_, Vec<Blocked>>) {
        let is_closed = |_: &mut Vec<Blocked>| !self.is_open.load(SeqCst);
        drop(self.opened.wait_while(waiting, is_closed).unwrap());
    }
}
