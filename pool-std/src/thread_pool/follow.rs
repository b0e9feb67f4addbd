//! Following the number of processors that the process may use.

use std::{
    io, mem,
    sync::{Arc, PoisonError},
    time::Duration,
};

use crate::{
    driver::Pool,
    platform::Registry,
    sync::{Condvar, Mutex, lock},
    thread_pool::processors,
};

/// The time between two checks of the number of processors.
const INTERVAL: Duration = Duration::from_millis(500);

/// The name of the thread that looks. Linux keeps 15 bytes of it.
const NAME: &str = "pool-follower";

/// A thread that [sets](super::active::ActiveWorkers::set) how many workers of a pool are active,
/// each time that the process may use another number of processors.
///
/// No worker could do so: all of them may be busy for long when the number changes, or asleep.
#[derive(Default)]
pub(crate) struct Follower {
    /// Whether the thread runs, and may set the number.
    is_on: Mutex<bool>,
    has_ended: Condvar,
}

impl Follower {
    /// Starts the thread, for a pool that was built when the process could use `known` processors.
    ///
    /// # Errors
    /// If the system refuses the thread.
    pub(crate) fn start(registry: &Arc<Registry>, mut known: usize) -> io::Result<()> {
        *lock(&registry.data().follower.is_on) = true;
        Pool(registry).spawn_thread(NAME, move |Pool(registry)| {
            let follower = &registry.data().follower;
            while follower.wait() {
                let count = processors::ask().filter(|&count| count != known);
                if let Some(count) = count {
                    known = count;
                    follower.follow(registry, count);
                }
            }
        })
    }

    /// Makes the follower's thread end, if it runs, and prevents it from setting the number of
    /// active workers again. Returns whether it ran.
    pub(crate) fn end(&self) -> bool {
        let was_on = mem::take(&mut *lock(&self.is_on));
        self.has_ended.notify_all();
        was_on
    }

    /// Adapts the pool to this number of processors, unless the program has set the number of
    /// active workers.
    pub(super) fn follow(&self, registry: &Registry, processors: usize) {
        // Under the lock, so that nothing is set after `end`.
        let is_on = lock(&self.is_on);
        if *is_on {
            let count = processors.min(registry.num_workers());
            // It is in range, and this thread is in no handler.
            _ = registry.data().active.set(registry, count);
            if let Some(crowd) = &registry.data().crowd {
                crowd.set_processors(registry, processors);
            }
        }
    }

    /// Waits until the next check is due. Returns false if the thread must end instead.
    fn wait(&self) -> bool {
        // Liveness: it ends by time.
        let waited = self
            .has_ended
            .wait_timeout_while(lock(&self.is_on), INTERVAL, |is_on| *is_on);
        let (is_on, _) = waited.unwrap_or_else(PoisonError::into_inner);
        *is_on
    }
}
