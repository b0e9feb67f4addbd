//! How random programs are made.

use std::sync::Arc;

/// The most jobs of a program: our workers run one in 128 of their own jobs out of the usual order,
/// and look elsewhere before each 64th, so that none waits without end.
const MOST_JOBS: usize = 50;

/// What the worker of a pool does, one after the other.
#[derive(Debug)]
pub(super) struct Program(pub(super) Operations);

/// Shared, because jobs outlive what has spawned them.
pub(super) type Operations = Arc<[Operation]>;

/// What the body of a scope does, or a job in it, one after the other.
pub(super) type ScopeBody = Arc<[InScope]>;

#[derive(Debug)]
pub(super) enum Operation {
    /// Asks what the thread is, and whether its deque has jobs.
    Look,
    YieldNow,
    YieldLocal,
    Install(Operations),
    Join(Operations, Operations),
    Scope(Form, ScopeBody),
    Spawn(Form, Operations),
    Broadcast(Operations),
    SpawnBroadcast(Operations),
    Catch(Operations),
    Panic,
}

/// Which of the functions is called that do the same.
#[derive(Debug, Clone, Copy)]
pub(super) struct Form {
    pub(super) is_fifo: bool,
    /// By a function of the pool, and not one of the current pool.
    pub(super) by_pool: bool,
    /// Of scopes: the body runs on the calling thread, wherever that is.
    pub(super) is_in_place: bool,
}

#[derive(Debug)]
pub(super) enum InScope {
    Spawn(ScopeBody),
    SpawnBroadcast(Operations),
    Do(Operation),
}

impl Program {
    /// Returns a program, always the same for a number.
    pub(super) fn with_number(number: u64) -> Self {
        let mut author = Author {
            state: number,
            jobs: 0,
        };
        loop {
            author.jobs = 0;
            let depth = 2 + author.below(3);
            let operations = author.operations(depth, 5);
            if author.jobs <= MOST_JOBS {
                return Self(operations);
            }
        }
    }
}

struct Author {
    state: u64,
    /// How many jobs the program has so far.
    jobs: usize,
}

impl Author {
    /// Returns a number below a limit, by the generator SplitMix64 of Steele, Lea and Flood.
    fn below(&mut self, limit: u64) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }

    fn operations(&mut self, depth: u64, most: u64) -> Operations {
        let count = 1 + self.below(most);
        (0..count).map(|_| self.operation(depth)).collect()
    }

    fn operation(&mut self, depth: u64) -> Operation {
        let Some(inner) = depth.checked_sub(1) else {
            return match self.below(4) {
                0 => Operation::YieldNow,
                1 => Operation::YieldLocal,
                _ => Operation::Look,
            };
        };
        match self.below(18) {
            0..3 => {
                self.jobs += 1;
                Operation::Join(self.operations(inner, 3), self.operations(inner, 3))
            }
            3..8 => Operation::Scope(self.form(), self.in_scope(inner, 4)),
            8..11 => {
                self.jobs += 1;
                Operation::Spawn(self.form(), self.operations(inner, 3))
            }
            11 => Operation::Install(self.operations(inner, 3)),
            12 => {
                self.jobs += 1;
                Operation::Broadcast(self.operations(inner, 2))
            }
            13 => {
                self.jobs += 1;
                Operation::SpawnBroadcast(self.operations(inner, 2))
            }
            14 => Operation::Catch(self.operations(inner, 4)),
            15 if self.below(3) == 0 => Operation::Panic,
            16 => Operation::YieldNow,
            17 => Operation::YieldLocal,
            _ => Operation::Look,
        }
    }

    fn in_scope(&mut self, depth: u64, most: u64) -> ScopeBody {
        let count = 1 + self.below(most);
        let one = |_| match (depth.checked_sub(1), self.below(10)) {
            (None, _) => InScope::Do(Operation::Look),
            (Some(inner), 0..6) => {
                self.jobs += 1;
                InScope::Spawn(self.in_scope(inner, 3))
            }
            (Some(inner), 6) => {
                self.jobs += 1;
                InScope::SpawnBroadcast(self.operations(inner, 2))
            }
            (Some(inner), _) => InScope::Do(self.operation(inner)),
        };
        (0..count).map(one).collect()
    }

    fn form(&mut self) -> Form {
        let mut coin = || self.below(2) == 0;
        Form {
            is_fifo: coin(),
            by_pool: coin(),
            is_in_place: coin(),
        }
    }
}
