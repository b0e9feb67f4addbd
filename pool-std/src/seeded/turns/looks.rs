//! Looks at the member that has the turn, to find out whether it waits for something outside the
//! pool.

use std::time::{Duration, Instant};

use super::{
    super::system::{NotYetRun, SystemThread},
    LOOK,
};
use crate::system::ThreadState;

#[cfg(all(test, any(target_os = "linux", target_os = "android"), not(miri)))]
mod tests;

/// For how long a worker must be seen to wait for something outside the pool.
const BLOCKED: Duration = Duration::from_millis(20);
/// How many looks must see this, in different milliseconds. On a busy machine there are few looks
/// in that time, and a worker may happen to wait for a moment at each of them.
const LOOKS: u32 = 10;
/// How long such a wait may take at most while threads that could run have not run.
const BUSY: Duration = Duration::from_secs(2);
/// How long a worker may keep the turn if the system does not report what it does. Longer in tests
/// that compare orders: on a busy machine, a worker may not be run for a second.
pub(super) const UNKNOWN: Duration = Duration::from_secs(if cfg!(miri) {
    20
} else if cfg!(all(test, windows)) {
    5
} else {
    1
});
/// How long a running worker may keep the turn: it may wait for another worker without sleeping.
const COMPUTING: Duration = Duration::from_secs(2);

/// What the looks at the member that has the turn have found.
pub(super) struct Looks {
    /// The thread of the member.
    thread: SystemThread,
    /// The number of choices when it got the turn.
    choice: u64,
    first: Instant,
    /// How much processor time its thread had used at the first look.
    time: Option<Duration>,
    blocked: Option<Blocked>,
    /// The time since which every look has found the thread neither asleep nor able to run. The
    /// kernel keeps it, perhaps until another member has done something: for a child of `vfork`,
    /// for a file system of this process, or for a debugger.
    kept: Option<Instant>,
}

/// The looks at a member that was blocked at each of them.
struct Blocked {
    first: Instant,
    last: Instant,
    count: u32,
    /// The threads that could run but have not run since. The member may wait for one of them, for
    /// example to release a lock of the allocator, and on a busy machine that thread may not have
    /// run for a long time.
    others: Option<NotYetRun>,
}

impl Looks {
    /// Begins to look at a member that got the turn at this choice.
    pub(super) fn new(thread: SystemThread, choice: u64) -> Self {
        Self {
            thread,
            choice,
            first: Instant::now(),
            time: thread.time(),
            blocked: None,
            kept: None,
        }
    }

    /// Whether these are looks at the same thread since the same choice.
    pub(super) fn are_at(&self, thread: SystemThread, choice: u64) -> bool {
        self.thread == thread && self.choice == choice
    }

    /// Looks once more. Returns whether the turn is to be taken away.
    pub(super) fn look(&mut self) -> bool {
        match self.thread.state() {
            Some(ThreadState::Sleeping) => {
                self.kept = None;
                self.blocked.get_or_insert_with(Blocked::new).look()
            }
            Some(ThreadState::Running) => {
                (self.blocked, self.kept) = (None, None);
                self.computed() >= COMPUTING
            }
            // Such a thread uses no processor time that could end its turn.
            Some(ThreadState::Kept | ThreadState::Stopped) => {
                self.blocked = None;
                self.kept.get_or_insert_with(Instant::now).elapsed() >= COMPUTING
            }
            None => self.first.elapsed() >= UNKNOWN,
        }
    }

    /// Returns how long the member has computed or, if the system does not report that, had the
    /// turn.
    fn computed(&self) -> Duration {
        let time = self.time.zip(self.thread.time());
        // If the thread has ended, another one may have got its number, with less processor time.
        time.map_or_else(
            || self.first.elapsed(),
            |(first, now)| now.saturating_sub(first),
        )
    }
}

impl Blocked {
    fn new() -> Self {
        let now = Instant::now();
        Self {
            first: now,
            last: now,
            count: 0,
            others: None,
        }
    }

    /// Counts a look. Returns whether the member is taken to be blocked.
    fn look(&mut self) -> bool {
        let now = Instant::now();
        if now - self.last >= LOOK {
            self.last = now;
            self.count += 1;
        }
        let waited = now - self.first;
        if self.count < LOOKS || waited < BLOCKED {
            return false;
        }
        self.others.get_or_insert_with(NotYetRun::now).is_over() || waited >= BUSY
    }
}
