//! The accounting of blocked workers, step by step: `Accounting` of sleep-core.

use super::{
    Stop,
    guard::Guard,
    world::{MAX_WORKERS, World},
};

/// What the accounting keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Accounting {
    states: [State; MAX_WORKERS],
    is_locked: bool,
    reported: bool,
    /// How often the handler was called.
    pub(super) reports: u8,
    /// Whether the event has happened for which workers are blocked.
    pub(super) is_released: bool,
}

/// What the accounting knows of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum State {
    Active,
    Asleep,
    Blocked,
}

/// A note that a thread makes, with the lock held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Noting {
    note: Note,
    at: At,
}

/// What is noted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Note {
    /// This worker is about to park.
    Sleep(u8),
    /// This worker has returned from its sleep.
    Wake(u8),
    /// This worker waits for an event.
    Block(u8),
    /// The event is about to happen: all workers that wait for it go on.
    Release,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum At {
    Locks,
    /// It looks for something that this sleeping worker may run, in the source of this number.
    Looks(u8, u8),
    Unlocks,
}

impl Accounting {
    pub(super) fn new() -> Self {
        Self {
            states: [State::Active; MAX_WORKERS],
            is_locked: false,
            reported: false,
            reports: 0,
            is_released: false,
        }
    }

    fn is_stuck(&self, num_workers: u8) -> bool {
        let states = &self.states[..usize::from(num_workers)];
        states.iter().all(|state| *state != State::Active) && self.has_blocked()
    }

    /// Whether a worker is blocked.
    pub(super) fn has_blocked(&self) -> bool {
        self.states.contains(&State::Blocked)
    }
}

impl Noting {
    pub(super) fn new(note: Note) -> Self {
        Self {
            note,
            at: At::Locks,
        }
    }

    /// Makes the next step. Returns what was done, and whether the note is made.
    ///
    /// # Errors
    /// If another thread has the lock, or if a report is false.
    pub(super) fn step(
        &mut self,
        world: &mut World,
        without: &[Guard],
    ) -> Result<(&'static str, bool), Stop> {
        let has = |guard| !without.contains(&guard);
        let num_workers = world.num_workers();
        let what = match self.at {
            At::Locks if world.accounting.is_locked => return Err(Stop::Waits),
            At::Locks => {
                let checks = self.change(world, without);
                let accounting = &mut world.accounting;
                accounting.is_locked = true;
                self.at = if checks && accounting.is_stuck(num_workers) && !accounting.reported {
                    At::Looks(0, 0)
                } else {
                    At::Unlocks
                };
                "takes the lock of the accounting, and makes its note"
            }
            At::Looks(worker, number) if worker < num_workers && has(Guard::ReportLooks) => {
                let is_asleep = world.accounting.states[usize::from(worker)] == State::Asleep;
                match world.source(worker, number).filter(|_| is_asleep) {
                    Some(source) if world.holds(source) => {
                        self.at = At::Unlocks;
                        "sees a job that a sleeping worker may run"
                    }
                    Some(_) => {
                        self.at = At::Looks(worker, number + 1);
                        "sees no job for a sleeping worker"
                    }
                    None => {
                        self.at = At::Looks(worker + 1, 0);
                        "goes on to the next worker"
                    }
                }
            }
            At::Looks(..) => {
                world.accounting.reported = true;
                world.accounting.reports += 1;
                world.check_report()?;
                self.at = At::Unlocks;
                "reports a deadlock"
            }
            At::Unlocks => {
                world.accounting.is_locked = false;
                return Ok(("leaves the lock of the accounting", true));
            }
        };
        Ok((what, false))
    }

    /// Changes what the accounting knows. Returns whether a worker has ceased to be active.
    fn change(&self, world: &mut World, without: &[Guard]) -> bool {
        let has = |guard| !without.contains(&guard);
        let states = &mut world.accounting.states;
        match self.note {
            Note::Sleep(worker) => {
                if has(Guard::SleepIsNoted) {
                    states[usize::from(worker)] = State::Asleep;
                }
                true
            }
            Note::Wake(worker) => {
                let state = &mut states[usize::from(worker)];
                if *state == State::Asleep && has(Guard::WakeIsNoted) {
                    *state = State::Active;
                }
                false
            }
            Note::Block(worker) => {
                states[usize::from(worker)] = State::Blocked;
                world.running -= 1;
                true
            }
            Note::Release => {
                for state in states.iter_mut().filter(|state| **state == State::Blocked) {
                    *state = State::Active;
                    world.running += 1;
                }
                world.accounting.reported = false;
                false
            }
        }
    }
}
