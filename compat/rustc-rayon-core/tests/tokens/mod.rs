//! A jobserver of one token.

use std::sync::{Arc, Condvar, Mutex};

use rayon_core::ThreadPoolBuilder;

/// The tokens of a jobserver that are free.
pub(crate) struct Tokens {
    free: Mutex<usize>,
    returned: Condvar,
}

impl Tokens {
    /// Creates a jobserver with no token but the one that the calling thread holds.
    pub(crate) fn held_by_this_thread() -> Arc<Self> {
        Arc::new(Self {
            free: Mutex::new(0),
            returned: Condvar::new(),
        })
    }

    pub(crate) fn acquire(&self) {
        let free = self.free.lock().unwrap();
        let mut free = self.returned.wait_while(free, |free| *free == 0).unwrap();
        *free -= 1;
    }

    pub(crate) fn release(&self) {
        *self.free.lock().unwrap() += 1;
        self.returned.notify_one();
    }

    /// Returns the settings of a pool whose threads hold tokens while they run.
    pub(crate) fn builder(self: &Arc<Self>) -> ThreadPoolBuilder {
        let (acquiring, releasing) = (self.clone(), self.clone());
        ThreadPoolBuilder::new()
            .num_threads(3)
            .acquire_thread_handler(move || acquiring.acquire())
            .release_thread_handler(move || releasing.release())
    }

    pub(crate) fn free(&self) -> usize {
        *self.free.lock().unwrap()
    }
}
