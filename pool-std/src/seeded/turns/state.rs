//! Who has the turn, and what the members do.

use std::{
    fmt::Write as _,
    sync::{Arc, Condvar},
    time::Instant,
};

use super::{
    super::{choices::Choices, system::SystemThread},
    SETTLING,
    looks::Looks,
};

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
    /// At the member that has the turn.
    pub(super) looks: Option<Looks>,
    /// Since when all members are seen to wait, and at which choice.
    pub(super) stuck: Option<(u64, Instant)>,
    /// Kept to save allocations.
    pub(super) ready: Vec<usize>,
}

pub(super) struct Member {
    pub(super) status: Status,
    pub(super) bell: Arc<Condvar>,
    pub(super) thread: SystemThread,
    /// Whether it was unparked while it was not parked.
    pub(super) has_token: bool,
    /// Whether a thread has ever been the worker.
    pub(super) has_arrived: bool,
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
    /// Likewise, while it was registered as a sleeper and did not sleep yet. It can still be woken.
    BlockedAsleep,
}

impl Status {
    /// Whether the member is registered as a sleeper, and was not woken.
    pub(super) fn is_asleep(self) -> bool {
        matches!(self, Self::Asleep | Self::BlockedAsleep)
    }

    /// Whether the turn was taken away from the member, which has not come to a point since.
    fn is_blocked(self) -> bool {
        matches!(self, Self::Blocked | Self::BlockedAsleep)
    }
}

impl State {
    pub(super) fn be_ready(&mut self, member: usize) {
        let member = &mut self.members[member];
        member.status = Status::Ready;
        member.thread = SystemThread::current();
        member.has_arrived = true;
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
        let (thread, choice) = (self.members[turn].thread, self.choices.made());
        let earlier = self.looks.take().filter(|it| it.are_at(thread, choice));
        let mut looks = earlier.unwrap_or_else(|| Looks::new(thread, choice));
        if looks.look() {
            let status = &mut self.members[turn].status;
            // A handler of the pool may block a member that is about to sleep.
            *status = match *status {
                Status::Asleep => Status::BlockedAsleep,
                _ => Status::Blocked,
            };
            self.pass(None, at_rest);
        } else {
            self.looks = Some(looks);
        }
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
                Status::Ready | Status::Blocked | Status::BlockedAsleep => {
                    match member.thread.is_blocked() {
                        Some(false) => return Waits::None,
                        is_blocked => {
                            is_known &= is_blocked.is_some();
                            "is blocked outside the pool, as by a lock"
                        }
                    }
                }
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
        members
            .any(|member| member.status.is_blocked() && member.thread.is_blocked() == Some(false))
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
