//! What the looks at the member that has the turn say: whether it waits for something outside the
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
/// How often, in different milliseconds. On a busy machine there are few looks in that time, and a
/// worker may happen to wait for a moment at each of them.
const LOOKS: u32 = 10;
/// How long then at most until each thread that could run has run.
const BUSY: Duration = Duration::from_secs(2);
/// How long a worker may keep the turn where the system does not tell what it does.
pub(super) const UNKNOWN: Duration = Duration::from_secs(if cfg!(miri) { 20 } else { 1 });
/// How long a worker may keep the turn that runs: it may wait for another one without sleeping.
const COMPUTING: Duration = Duration::from_secs(2);

/// What looks at the member that has the turn have found.
pub(super) struct Looks {
    /// Of the member.
    thread: SystemThread,
    /// The number of choices when it got the turn.
    choice: u64,
    first: Instant,
    /// How much processor time its thread had used at the first look.
    time: Option<Duration>,
    blocked: Option<Blocked>,
    /// Since when each look has found it neither asleep nor able to run. The kernel keeps it,
    /// perhaps until another member has done something: for a child of `vfork`, for a file system
    /// of this process, or for a debugger.
    kept: Option<Instant>,
}

/// The looks at a member that was blocked at each of them.
struct Blocked {
    first: Instant,
    last: Instant,
    count: u32,
    /// What a thread that could run does may be what the member waits for, such as releasing a lock
    /// of the allocator. On a busy machine it may not have run for long.
    others: Option<NotYetRun>,
}

impl Looks {
    /// Begins to look at a member that got the turn by a choice of this number.
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

    /// Whether these are looks at what the member does since this choice.
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
            // No processor time would end its turn.
            Some(ThreadState::Kept | ThreadState::Stopped) => {
                self.blocked = None;
                self.kept.get_or_insert_with(Instant::now).elapsed() >= COMPUTING
            }
            None => self.first.elapsed() >= UNKNOWN,
        }
    }

    /// Returns for how long the member has run, or could have.
    fn computed(&self) -> Duration {
        let time = self.time.zip(self.thread.time());
        // Another thread may have got the number of one that has ended.
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
