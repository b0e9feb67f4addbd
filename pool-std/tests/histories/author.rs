//! What the steps of a history are, and how they are chosen.

use super::{EVENTS, MAX_WORKERS};

/// The threads that may act on a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Actors {
    /// Its own workers alone, but for the thread that breaks deadlocks. So nothing happens between
    /// a report and the end of the deadlock, unless the report is false.
    Own,
    /// Also a thread outside that injects jobs, and a second pool.
    All,
}

/// A random step. Lists of steps are run one after the other.
#[derive(Debug)]
pub(crate) enum Step {
    /// Waits for an event, marked by a ticket or in a section.
    Wait {
        event: usize,
        in_section: bool,
    },
    /// Brings about events, whose waiters are resumed at once.
    Open(Vec<usize>),
    Compute(u32),
    Spawn(Vec<Step>),
    Join(Vec<Step>, Vec<Step>),
    /// Lets the thread outside inject a job, and does not wait for it.
    Inject(Vec<Step>),
    /// Waits for a job of the second pool.
    Install(Vec<Step>),
    /// Lends its place to a spare thread, if there is one, and runs the steps beside the pool. They
    /// do not wait for events, because such waits are not reported.
    InPlace(Vec<Step>),
    /// Changes how many workers are wanted, from 1 up to a random number.
    SetActive(usize),
}

/// XorShift64Star.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let bits = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33;
        usize::try_from(bits).expect("31 bits") % limit
    }
}

/// Makes histories.
pub(crate) struct Author {
    pub(crate) random: Random,
    pub(crate) actors: Actors,
    pub(crate) steps_left: usize,
}

impl Author {
    /// `may_wait` says whether the steps may wait for events. Those of the second pool do not: two
    /// pools that wait for each other are outside the accounting, which is one pool's.
    pub(crate) fn steps(&mut self, depth: usize, may_wait: bool) -> Vec<Step> {
        let length = 1 + self.random.below(5);
        let length = length.min(self.steps_left);
        self.steps_left -= length;
        (0..length).map(|_| self.step(depth, may_wait)).collect()
    }

    pub(crate) fn step(&mut self, depth: usize, may_wait: bool) -> Step {
        let kinds = if depth == 0 { 7 } else { 15 };
        match self.random.below(kinds) {
            0..=1 if may_wait => Step::Wait {
                event: self.random.below(EVENTS),
                in_section: self.random.below(2) == 0,
            },
            0..=4 => {
                let events = 1 + self.random.below(3);
                Step::Open((0..events).map(|_| self.random.below(EVENTS)).collect())
            }
            5 => Step::Compute(1 << self.random.below(10)),
            6 => Step::SetActive(self.random.below(MAX_WORKERS)),
            7..=8 => Step::InPlace(self.steps(0, false)),
            9..=10 => Step::Spawn(self.steps(depth - 1, may_wait)),
            11..=12 => {
                let first = self.steps(depth - 1, may_wait);
                Step::Join(first, self.steps(depth - 1, may_wait))
            }
            _ if self.actors == Actors::Own => Step::Spawn(self.steps(depth - 1, may_wait)),
            13 => Step::Inject(self.steps(depth - 1, may_wait)),
            _ => Step::Install(self.steps(depth - 1, false)),
        }
    }
}

impl Step {
    pub(crate) fn copy(&self) -> Self {
        let copy = |steps: &Vec<Self>| steps.iter().map(Self::copy).collect();
        match self {
            Self::Wait { event, in_section } => Self::Wait {
                event: *event,
                in_section: *in_section,
            },
            Self::Open(events) => Self::Open(events.clone()),
            Self::Compute(rounds) => Self::Compute(*rounds),
            Self::Spawn(steps) => Self::Spawn(copy(steps)),
            Self::Join(first, second) => Self::Join(copy(first), copy(second)),
            Self::Inject(steps) => Self::Inject(copy(steps)),
            Self::Install(steps) => Self::Install(copy(steps)),
            Self::InPlace(steps) => Self::InPlace(copy(steps)),
            Self::SetActive(number) => Self::SetActive(*number),
        }
    }
}
