//! Who has the turn, and what the members do.

use std::{
    fmt::Write as _,
    sync::{Arc, Condvar},
    time::{Duration, Instant},
};

use super::{
    super::{choices::Choices, system::SystemThread},
    LOOK, SETTLING,
};

#[cfg(all(test, any(target_os = "linux", target_os = "android"), not(miri)))]
mod tests;

/// For how long a worker must be seen to wait for something outside the pool.
const BLOCKED: Duration = Duration::from_millis(20);
/// How often, in different milliseconds. On a busy machine there are few looks in that time, and a
/// worker may happen to wait for a moment at each of them.
const LOOKS: u32 = 10;
/// How long a worker may keep the turn where the system does not tell what it does.
pub(super) const UNKNOWN: Duration = Duration::from_secs(if cfg!(miri) { 20 } else { 1 });
/// How long a worker may keep the turn that runs: it may wait for another one without sleeping.
const COMPUTING: Duration = Duration::from_secs(2);
/// How many choices members that come to rest may make first, and so many more for each member. On
/// a busy machine, a choice may take as long as a time slice of each thread that computes.
const CHOICES_TO_REST: u64 = 1000;
const CHOICES_OF_MEMBER: u64 = 10;

/// Who has the turn, and what the members do.
pub(super) struct State {
    pub(super) choices: Choices,
    pub(super) members: Vec<Member>,
    pub(super) turn: Option<usize>,
    /// Whether the member that has the turn knows that, and runs.
    pub(super) is_taken: bool,
    /// How many threads are in the middle of building or ending a pool. The turn is neither given
    /// nor taken away meanwhile.
    pub(super) holds: usize,
    pub(super) last_choice: Instant,
    /// Whether the member that has the turn was blocked at all looks since it has it.
    pub(super) blocked: Option<Blocked>,
    /// Since when all members are seen to wait, and at which choice.
    pub(super) stuck: Option<(u64, Instant)>,
    /// Kept to save allocations.
    pub(super) ready: Vec<usize>,
}

/// The looks at a member that was blocked at each of them.
pub(super) struct Blocked {
    /// The number of choices at the first one.
    choice: u64,
    first: Instant,
    last: Instant,
    looks: u32,
}

pub(super) struct Member {
    pub(super) status: Status,
    pub(super) bell: Arc<Condvar>,
    pub(super) thread: SystemThread,
    /// Whether it was unparked while it was not parked.
    pub(super) has_token: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    /// No thread is the worker.
    Absent,
    /// It has the turn, or can have it.
    Ready,
    /// It sleeps until it is woken.
    Asleep,
    /// It sleeps in a wait that its sleep protocol does not know of, until it is unparked.
    Parked,
    /// The turn was taken away from it.
    Blocked,
}

impl State {
    pub(super) fn be_ready(&mut self, member: usize) {
        let member = &mut self.members[member];
        member.status = Status::Ready;
        member.thread = SystemThread::current();
    }

    /// Gives the turn to a member that the schedule chooses, after one that may go on.
    pub(super) fn pass(&mut self, running: Option<usize>, at_rest: &Condvar) {
        self.turn = None;
        self.is_taken = false;
        if self.holds > 0 {
            return;
        }
        let members = self.members.iter().enumerate();
        let ready = members.filter(|(_, member)| member.status == Status::Ready);
        self.ready.clear();
        self.ready.extend(ready.map(|(number, _)| number));
        if self.ready.is_empty() {
            at_rest.notify_all();
            return;
        }
        let chosen = self.choices.choose(&self.ready, running);
        self.last_choice = Instant::now();
        self.turn = Some(chosen);
        if running != Some(chosen) {
            self.members[chosen].bell.notify_one();
        }
    }

    /// Undoes one hold.
    pub(super) fn end_hold(&mut self, at_rest: &Condvar) {
        self.holds -= 1;
        if self.turn.is_none() {
            self.pass(None, at_rest);
        }
    }

    /// Takes the turn away from a member that waits for something outside the pool.
    pub(super) fn look(&mut self, at_rest: &Condvar) {
        // One that is going to take its turn still sleeps in its bell.
        let Some(turn) = self.turn.filter(|_| self.is_taken && self.holds == 0) else {
            return;
        };
        let is_over = match self.members[turn].thread.is_blocked() {
            Some(true) => self.is_blocked_for_long(),
            Some(false) => {
                self.blocked = None;
                self.last_choice.elapsed() >= COMPUTING
            }
            None => self.last_choice.elapsed() >= UNKNOWN,
        };
        if is_over {
            self.blocked = None;
            self.members[turn].status = Status::Blocked;
            self.pass(None, at_rest);
        }
    }

    /// Counts a look at which the member that has the turn is blocked. Returns whether it is taken
    /// to be blocked.
    fn is_blocked_for_long(&mut self) -> bool {
        let (choice, now) = (self.choices.made(), Instant::now());
        let earlier = self.blocked.take().filter(|it| it.choice == choice);
        let mut blocked = earlier.unwrap_or(Blocked {
            choice,
            first: now,
            last: now,
            looks: 0,
        });
        if now - blocked.last >= LOOK {
            blocked.last = now;
            blocked.looks += 1;
        }
        let is_long = blocked.looks >= LOOKS && now - blocked.first >= BLOCKED;
        self.blocked = Some(blocked);
        is_long
    }

    pub(super) fn describe_waits(&self) -> Waits {
        let mut report = String::new();
        let mut is_known = true;
        for (number, member) in self.members.iter().enumerate() {
            let what = match member.status {
                Status::Absent => continue,
                Status::Asleep | Status::Parked => {
                    "sleeps in a wait of its pool, or has nothing to do"
                }
                Status::Ready | Status::Blocked => match member.thread.is_blocked() {
                    Some(false) => return Waits::None,
                    is_blocked => {
                        is_known &= is_blocked.is_some();
                        "is blocked outside the pool, as by a lock"
                    }
                },
            };
            _ = write!(report, "\n  worker {number} {what}");
        }
        if is_known {
            Waits::Known(report)
        } else {
            Waits::Unknown(report)
        }
    }

    /// Whether a member from which the turn was taken is not blocked any more, and has not come to
    /// a point.
    pub(super) fn any_goes_on(&self) -> bool {
        let mut members = self.members.iter();
        members.any(|member| {
            member.status == Status::Blocked && member.thread.is_blocked() == Some(false)
        })
    }

    /// Whether the members make choices, and have made too few since the first of these for members
    /// that would not come to rest.
    pub(super) fn is_about_to_rest(&self, first: u64) -> bool {
        let choices = self.choices.made() - first;
        let limit = CHOICES_TO_REST + CHOICES_OF_MEMBER * self.members.len() as u64;
        choices < limit && self.last_choice.elapsed() < SETTLING
    }

    pub(super) fn is_at_rest(&self) -> bool {
        let is_ready = |member: &Member| member.status == Status::Ready;
        self.turn.is_none() && !self.members.iter().any(is_ready) && !self.any_goes_on()
    }
}

/// Whether all members wait, and what each of them does.
pub(super) enum Waits {
    None,
    Known(String),
    /// The system does not say what all of them do.
    Unknown(String),
}
