//! The threads of a pool that starts them when it is used for the first time.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use pool_core::WorkerIndex;

use crate::{
    platform::Registry,
    sync::{Mutex, lock},
    thread_pool::error::BuildError,
    worker::thread::{Role, ThreadBuilder},
};

/// With addresses of 32 bits there is no size of a stack that the C library takes and the system
/// refuses.
#[cfg(all(test, target_pointer_width = "64", not(miri)))]
mod tests;

/// The threads that a pool starts when it is used for the first time.
///
/// Until then, the pool has no workers, and none counts as asleep. So the first use wakes no thread
/// for the jobs that it queues, and the threads find these jobs when they begin to search.
///
/// For the detection of deadlocks a worker counts as active until the system refuses a thread, and
/// again from the next attempt on.
#[derive(Default)]
pub(crate) struct LazyThreads {
    are_pending: AtomicBool,
    /// The threads that have not been started, in reverse order.
    pending: Mutex<Vec<LazyThread>>,
}

/// A thread that is to be started.
pub(crate) struct LazyThread {
    pub(crate) index: WorkerIndex,
    pub(crate) name: Option<String>,
    pub(crate) stack_size: Option<usize>,
}

/// A reference to the pool, which is removed when this is dropped.
struct Reference<'r>(&'r Registry);

impl Drop for Reference<'_> {
    fn drop(&mut self) {
        self.0.remove_reference();
    }
}

impl LazyThreads {
    /// Creates the threads of a pool that is being built, in their order.
    pub(crate) fn new(mut threads: Vec<LazyThread>) -> Self {
        threads.reverse();
        Self {
            are_pending: AtomicBool::new(!threads.is_empty()),
            pending: Mutex::new(threads),
        }
    }

    /// Whether threads are to be started.
    #[inline]
    pub(crate) fn are_pending(&self) -> bool {
        // Ordering: Relaxed. A thread that sees that all are started reads nothing else that the
        // starting thread wrote.
        self.are_pending.load(Ordering::Relaxed)
    }

    /// Starts the threads of a pool that have not been started. In a deadlock handler of the pool
    /// it starts none.
    ///
    /// # Errors
    /// If the system refuses a thread. The threads before it have been started, and the next call
    /// continues with it.
    #[cold]
    pub(crate) fn start(registry: &Arc<Registry>) -> Result<(), BuildError> {
        let data = registry.data();
        if data.reporting.is_here() {
            // The accounting is locked, and the list too if a thread that was refused has led to
            // the report. The threads that run take what the handler spawns.
            return Ok(());
        }
        if !registry.try_add_reference() {
            // The pool has ended. The thread that ends it clears the list, and may be late.
            return Ok(());
        }
        // Dropped after the lock, since it may be the last one.
        let _reference = Reference(registry);
        let mut pending = lock(&data.lazy.pending);
        // Before any of them runs, because it might block, and be reported as a deadlock.
        for thread in &*pending {
            registry.deadlock().arrive(thread.index);
        }
        while let Some(thread) = pending.last() {
            let index = thread.index;
            let (name, stack_size) = (thread.name.clone(), thread.stack_size);
            let builder = ThreadBuilder::new(registry, Role::Worker(index), name, stack_size);
            if let Err(source) = builder.start() {
                data.threads.forget_dropped();
                // The threads that run would wait forever for jobs that only these workers may run.
                for thread in &*pending {
                    registry.mark_absent(thread.index);
                }
                let index = index.get();
                return Err(BuildError::Spawn { index, source });
            }
            pending.pop();
        }
        let finished = data.threads.finish_build();
        debug_assert!(finished.is_ok(), "each thread was started");
        // Ordering: Relaxed, see `are_pending`.
        data.lazy.are_pending.store(false, Ordering::Relaxed);
        Ok(())
    }

    /// Starts no thread from now on, because the pool has ended. Threads that have been started
    /// count by now, so that a thread which waits for the end of the pool waits for them.
    pub(crate) fn end(&self) {
        lock(&self.pending).clear();
    }
}
