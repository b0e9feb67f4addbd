//! Which member has the turn, and what the members do.

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

/// How many choices the members may make until they come to rest: a base, and an addition for each
/// member. On a busy machine, a choice may take as long as a time slice of each thread that
/// computes.
const CHOICES_TO_REST: u64 = 1000;
const CHOICES_OF_MEMBER: u64 = 10;

/// Which member has the turn, and what the members do.
pub(super) struct State {
    pub(super) choices: Choices,
    pub(super) members: Vec<Member>,
    pub(super) turn: Option<usize>,
    /// Whether the member that has the turn has noticed this and runs.
    pub(super) is_taken: bool,
    /// The number of holds: of threads that build or end a pool, for example. The turn is neither
    /// given nor taken away while there are any.
    pub(super) holds: usize,
    pub(super) last_choice: Instant,
    /// The looks at the member that has the turn.
    pub(super) looks: Option<Looks>,
    /// The choice at which all members were first seen to wait, and the time.
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
    /// Whether a thread has ever run as this worker.
    pub(super) has_arrived: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    /// No thread runs as this worker.
    Absent,
    /// It has the turn, or can have it.
    Ready,
    /// It sleeps until it is woken.
    Asleep,
    /// It sleeps until it is unparked, in a wait that its sleep protocol does not know about.
    Parked,
    /// The turn was taken away from it.
    Blocked,
    /// The turn was taken away from it while it was registered as a sleeper but did not sleep yet.
    /// It can still be woken.
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

    /// Gives the turn to a member that the schedule chooses. `running` has just run and may
    /// continue.
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

    /// Takes the turn away from the member that has it if that member waits for something outside
    /// the pool, or computes for too long.
    pub(super) fn look(&mut self, at_rest: &Condvar) {
        // A member that was given the turn, but has not taken it yet, still waits for its bell.
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
        let is_present = |member: &Member| member.status != Status::Absent;
        if !self.members.iter().any(is_present) {
            // The threads are about to end.
            return Waits::None;
        }
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

    /// Whether any member from which the turn was taken is no longer blocked and has not come to a
    /// point since.
    pub(super) fn any_goes_on(&self) -> bool {
        let mut members = self.members.iter();
        members
            .any(|member| member.status.is_blocked() && member.thread.is_blocked() == Some(false))
    }

    /// Whether the members still make choices, and have made so few since the `first` one that they
    /// may still come to rest.
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
    /// The same, but the system does not report what all of them do.
    Unknown(String),
}
