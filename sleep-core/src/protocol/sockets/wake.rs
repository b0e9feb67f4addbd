//! Which workers are woken for jobs, in which socket, and by whom.

use super::{JecList, Sockets};
use crate::{
    index::WorkerIndex,
    primitive::{Ordering, fence},
    protocol::{Hint, SleepProtocol},
};

/// The most workers that a poster, or a worker that has found a job, wakes in each other socket.
/// They wake the rest of that socket.
pub(super) const SEEDS: usize = 2;

/// A worker that has found a job wakes workers of other sockets only if at least one in this many
/// workers of its own socket runs a job. Before that, the jobs may all be done in one socket.
const BUSY_PART: usize = 4;

/// If at least this many workers of its own socket are idle, a worker that has found a job wakes
/// none elsewhere.
const MANY_IDLE: usize = 8;

impl<L: JecList> Sockets<L> {
    /// Wakes sleepers for new jobs, if need be, after a fence.
    #[cold]
    pub(super) fn wake_for(&self, count: usize, hint: Hint, queue_was_empty: bool) {
        let first = match hint {
            Hint::Worker(worker) => usize::from(worker),
            Hint::Injector | Hint::Unknown => 0,
        };
        let Some(home) = self.circle(first).next() else {
            return;
        };
        let left = self.wake_in(home, count, count, queue_was_empty);
        self.wake_elsewhere(home, first, left, queue_was_empty);
    }

    /// Wakes workers of one socket for `count` jobs, but no more than `limit`, if need be. Returns
    /// the number of jobs for which the socket has no inactive worker.
    ///
    /// The caller has executed a fence since it queued the jobs, or before it saw them.
    fn wake_in(&self, socket: usize, count: usize, limit: usize, queue_was_empty: bool) -> usize {
        let jec = &self.sockets()[socket];
        let counters = jec.counters();
        // Liveness: a worker that is idle now takes a job, or passes it on, or sees it in its last
        // look, because its next fence comes after the caller's. One that is woken does, too.
        let inactive = if queue_was_empty {
            counters.inactive()
        } else {
            counters.sleeping()
        };
        if self.words.may_sleep(socket) {
            jec.wake_for_jobs(count.min(limit), queue_was_empty);
            self.forget_if_awake(socket);
        }
        count.saturating_sub(inactive)
    }

    /// Wakes workers of other sockets for `count` jobs, a few in each. Begins with the socket of
    /// the worker `first`. The caller has executed a fence, as for [`wake_in`](Self::wake_in).
    pub(super) fn wake_elsewhere(
        &self,
        home: usize,
        first: usize,
        mut count: usize,
        queue_was_empty: bool,
    ) {
        for socket in self.circle(first) {
            if count == 0 {
                return;
            }
            if socket != home && self.words.may_sleep(socket) {
                count = self.wake_in(socket, count, SEEDS, queue_was_empty);
            }
        }
    }

    /// Clears the bit of a socket in which no worker seems to sleep.
    fn forget_if_awake(&self, socket: usize) {
        let jec = &self.sockets()[socket];
        if jec.num_sleeping() > 0 || !self.words.may_sleep(socket) {
            return;
        }
        self.words.clear_asleep(socket);
        // Ordering: pairs with the fence of a worker that registers, before its last look. If ours
        // comes first, that worker sees that the bit is clear, and sets it. If the worker's does,
        // we see it in the count. Nothing weaker orders our write of the bit before our read of
        // the count.
        fence(Ordering::SeqCst);
        if jec.num_sleeping() > 0 {
            self.words.set_asleep(socket);
            // Liveness: a poster may have missed the bit, and a worker that left its registration
            // may have taken all for awake. So each worker that was registered then looks again,
            // with the bit set before it does.
            let workers = jec.num_workers();
            jec.announce_for(
                (0..workers).filter_map(|local| WorkerIndex::new(local, workers).ok()),
            );
        }
    }

    /// Whether a worker that has found a job may leave the others to its own socket: enough workers
    /// are idle there, or it has just woken some, or most of them sleep and no job was left to it.
    pub(super) fn leaves_to_own_socket(&self, socket: usize) -> bool {
        let jec = &self.sockets()[socket];
        let counters = jec.counters();
        let active = jec.num_workers().saturating_sub(counters.inactive());
        // Liveness: in the first case the socket sees to the jobs as a pool of its own would. If
        // workers slept when this one changed the counters, its cascade has looked for more jobs.
        // Those that became inactive later end their searches later, and so see the jobs. In the
        // second case there are idle workers, for which the same holds.
        active * BUSY_PART < jec.num_workers() || counters.awake_but_idle() >= MANY_IDLE
    }
}
