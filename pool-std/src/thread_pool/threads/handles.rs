//! The handles of a pool's threads: kept when a thread starts, and joined when it has ended.

use std::{
    io, mem,
    thread::{self, JoinHandle},
};

use super::Threads;
use crate::{sync::lock, system};

impl Threads {
    /// Starts a thread of the pool, and keeps its handle.
    ///
    /// # Errors
    /// If the system refuses the thread.
    pub(crate) fn start_thread(
        &self,
        builder: thread::Builder,
        run: impl FnOnce() + Send + 'static,
    ) -> io::Result<()> {
        let start = || builder.spawn(run);
        #[cfg(feature = "pinning")]
        let start = || crate::thread_pool::pins::unpinned(start);
        let thread = start()?;
        self.keep_thread(thread);
        Ok(())
    }

    pub(super) fn keep_thread(&self, thread: JoinHandle<()>) {
        lock(&self.handles).push(thread);
    }

    /// Joins the threads that have ended, if the system does so without waiting for destructors,
    /// which may need this thread.
    pub(crate) fn join_ended(&self) {
        if system::JOINS_AT_ONCE {
            self.try_join_all();
        }
    }

    /// Joins the threads that have ended. Returns whether all are joined.
    pub(super) fn try_join_all(&self) -> bool {
        self.try_join_all_with(system::try_join)
    }

    /// Calls `join` with each thread that no other caller is joining. The closure joins the thread,
    /// or gives its handle back. Returns whether all threads are joined.
    pub(super) fn try_join_all_with(
        &self,
        join: impl Fn(JoinHandle<()>) -> Result<(), JoinHandle<()>>,
    ) -> bool {
        for thread in self.take_handles() {
            // No lock is held, because the threads may need it.
            let joining = Joining(self);
            if let Err(thread) = join(thread) {
                self.keep_thread(thread);
            }
            drop(joining);
        }
        // Both locks, since a handle is in the list or counted as being joined.
        let handles = lock(&self.handles);
        handles.is_empty() && lock(&self.running).joining == 0
    }

    /// Takes the handles of the threads that the caller is to join. They count as being joined
    /// until a [`Joining`] for each is dropped.
    fn take_handles(&self) -> Vec<JoinHandle<()>> {
        let mut handles = lock(&self.handles);
        let taken = mem::take(&mut *handles);
        lock(&self.running).joining += taken.len();
        taken
    }
}

/// A system thread that is being joined, or looked at.
struct Joining<'d>(&'d Threads);

impl Drop for Joining<'_> {
    fn drop(&mut self) {
        lock(&self.0.running).joining -= 1;
        self.0.all_stopped.notify_all();
    }
}
