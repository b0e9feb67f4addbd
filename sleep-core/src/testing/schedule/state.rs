//! Where an execution stands, and which actor runs next.

use std::{boxed::Box, fmt, format, string::String, vec::Vec};

use super::super::memory::Memory;

/// What an actor is about to do at a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Switch {
    /// It goes on, unless it is preempted.
    Point,
    /// It waits for others in a loop.
    Yield,
    /// It waits for the token of the parker at this address.
    Park(usize),
    /// It waits until no other actor can go on.
    Rest,
    /// It has ended.
    End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    Runnable,
    Parked(usize),
    Resting,
    Ended,
}

/// One choice of an execution: the number that was chosen, and of how many.
#[derive(Debug, Clone, Copy)]
pub(super) struct Choice {
    pub(super) chosen: usize,
    pub(super) options: usize,
}

/// What the thread of an actor does.
pub(super) struct Begin(pub(super) Box<dyn FnOnce() + Send>);

impl fmt::Debug for Begin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Begin")
    }
}

/// How many steps a failure shows at most, from its start and from its end.
const FIRST_STEPS: usize = 400;
const LAST_STEPS: usize = 20;

#[derive(Debug)]
pub(super) struct State {
    pub(super) names: Vec<&'static str>,
    /// The actor that runs. The others wait.
    pub(super) current: usize,
    pub(super) actors: Vec<Status>,
    /// What the actors do that have had no turn yet.
    pub(super) begins: Vec<Option<Begin>>,
    pub(super) memory: Memory,
    pub(super) choices: Vec<Choice>,
    /// How many choices have been made.
    pub(super) made: usize,
    pub(super) preemptions_left: usize,
    /// How many parks return without a token from now on.
    pub(super) spurious_left: usize,
    pub(super) points: u32,
    pub(super) points_in_a_row: u32,
    pub(super) trace: Vec<(usize, &'static str)>,
    pub(super) failure: Option<String>,
    /// Whether a thread reaches no point any more.
    pub(super) is_stuck: bool,
}

impl State {
    /// Chooses one of so many options: as in the last execution, up to the choice that differs, and
    /// then the first.
    pub(super) fn decide(&mut self, options: usize) -> usize {
        if options == 1 {
            return 0;
        }
        if self.made == self.choices.len() {
            let chosen = 0;
            self.choices.push(Choice { chosen, options });
        }
        let choice = self.choices[self.made];
        self.made += 1;
        assert_eq!(
            choice.options, options,
            "the program does not do the same when it is run again, so its schedules cannot be explored"
        );
        choice.chosen
    }

    /// Whether all actors have ended.
    pub(super) fn is_over(&self) -> bool {
        self.actors.iter().all(|&it| it == Status::Ended)
    }

    /// Returns the actor that runs next. `None` if no actor can go on.
    pub(super) fn next_actor(&mut self, me: usize, switch: Switch) -> Option<usize> {
        let count = self.actors.len();
        let after_me = (1..=count).map(|distance| (me + distance) % count);
        let runnable: Vec<_> = after_me
            .filter(|&actor| self.actors[actor] == Status::Runnable)
            .collect();
        if switch == Switch::Point {
            let others = if self.preemptions_left == 0 || self.memory.only_waits() {
                0
            } else {
                runnable.len() - 1
            };
            // The last of the runnable actors is this one.
            return match self.decide(1 + others) {
                0 => Some(me),
                chosen => {
                    self.preemptions_left -= 1;
                    Some(runnable[chosen - 1])
                }
            };
        }
        // Workers that never sleep search on while the pool is at rest.
        let is_still = switch == Switch::Yield && self.memory.is_still();
        if runnable.is_empty() || is_still {
            let rests = self.actors.iter().position(|&it| it == Status::Resting);
            if let Some(actor) = rests {
                self.actors[actor] = Status::Runnable;
                self.memory.stir();
                return Some(actor);
            }
        }
        match switch {
            // In turn, so that the actors that others wait for make progress.
            Switch::Yield => runnable.first().copied(),
            _ if runnable.is_empty() => None,
            _ => {
                let chosen = self.decide(runnable.len());
                Some(runnable[chosen])
            }
        }
    }

    pub(super) fn fail(&mut self, message: &str) {
        if self.failure.is_some() {
            return;
        }
        let mut text = format!("{message}\nthe schedule, which is the same in each run:");
        let steps: Vec<_> = self.trace.chunk_by(|one, next| one == next).collect();
        let left_out = steps.len().saturating_sub(FIRST_STEPS + LAST_STEPS);
        for (number, same) in steps.iter().enumerate() {
            if number == FIRST_STEPS && left_out > 0 {
                text += &format!("\n  ({left_out} more)");
            }
            if (FIRST_STEPS..FIRST_STEPS + left_out).contains(&number) {
                continue;
            }
            let (actor, what) = same[0];
            text += &format!("\n  {}: {what}", self.names[actor]);
            if same.len() > 1 {
                text += &format!(" ({} times)", same.len());
            }
        }
        self.failure = Some(text);
    }

    /// Says which actors wait in a loop, and which are parked meanwhile.
    pub(super) fn describe_endless(&self) -> String {
        let mut text = String::from("the threads go on without end:");
        for (actor, status) in self.actors.iter().enumerate() {
            let name = self.names[actor];
            text += &match status {
                Status::Ended => format!(" {name} has ended;"),
                Status::Runnable => format!(" {name} waits in a loop;"),
                Status::Parked(_) | Status::Resting => {
                    format!(" {name} is parked, and no thread wakes it;")
                }
            };
        }
        text
    }

    pub(super) fn describe_deadlock(&self) -> String {
        let mut text = String::from("a wake-up is lost:");
        for (actor, status) in self.actors.iter().enumerate() {
            let name = self.names[actor];
            match status {
                Status::Ended => text += &format!(" {name} has ended;"),
                _ => text += &format!(" {name} waits, and no thread will wake it;"),
            }
        }
        text
    }
}
