//! A pool as a [`Model`]: workers, posters and guests, with a sleep protocol that is played step by
//! step.
//!
//! | file | what it plays |
//! | --- | --- |
//! | `pool/world.rs` | what all share: queues, latches, slots, tokens of parkers |
//! | `pool/protocol.rs` | the calls of a sleep protocol, and what they may ask of the pool |
//! | `pool/jec.rs`, `pool/sockets.rs`, `pool/classic.rs`, `pool/hints.rs` | the protocols |
//! | `pool/accounting.rs` | how blocked workers are counted |
//! | `pool/worker.rs`, `pool/poster.rs`, `pool/guest.rs` | who calls them |
//! | `pool/scenario.rs` | what there is to do |
//! | `pool/shown.rs` | what a trace of a worker shows of its steps |
//! | `pool/guard.rs` | what can be left out |
//!
//! A worker sleeps as early as the protocol lets it, after its second fruitless search. Each look
//! at a queue is a step. What a fence orders is in order here: without it, the programs in
//! `litmus/ours` fail.

mod accounting;
mod classic;
mod guard;
mod guest;
mod hints;
mod jec;
mod poster;
mod protocol;
mod scenario;
mod shown;
mod sockets;
mod worker;
mod world;

pub use guard::{GUARDS, Guard};
pub use scenario::{GuestsWait, Jobs, NAMED, Post, Scenario};
pub use shown::{Shown, shown};

use crate::model::{Failure, Findings, Model, explore};
use accounting::{Note, Noting};
use arrayvec::ArrayVec;
use classic::Classic;
use guest::Guest;
use hints::Hints;
use jec::Jec;
use poster::Poster;
use protocol::{Answer, Flow, Protocol, Request};
use sockets::Sockets;
use worker::Worker;
use world::{Look, MAX_WORKERS, World};

/// How many posters, and how many guests, there can be.
const MAX_OTHERS: usize = 2;

/// A sleep protocol that is played.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `Jec` of sleep-core.
    Jec,
    /// `Sockets` of sleep-core, with a socket for each worker.
    Sockets,
    /// `Sockets` with one socket.
    OneSocket,
    /// `Classic` of sleep-core. It lends no seat: guests queue their jobs.
    Classic,
    /// `Hints` of sleep-core. It lends no seat either.
    Hints,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Jec,
        Self::Sockets,
        Self::OneSocket,
        Self::Classic,
        Self::Hints,
    ];

    /// Returns the name of the protocol, as `POOL_STD_SLEEP` has it; there is none for one socket.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Jec => "jec",
            Self::Sockets => "sockets",
            Self::OneSocket => "one-socket",
            Self::Classic => "classic",
            Self::Hints => "hints",
        }
    }
}

/// Plays all executions of a pool. `without` is what is left out of it.
///
/// # Errors
/// What fails, with an execution that shows it.
pub fn check(kind: Kind, scenario: Scenario, without: &[Guard]) -> Result<Findings, Failure> {
    let workers = scenario.workers;
    match kind {
        Kind::Jec => explore(&Pool::new(Jec::of(0..workers), scenario, without)),
        Kind::Sockets => explore(&Pool::new(Sockets::of(workers, 1), scenario, without)),
        Kind::OneSocket => explore(&Pool::new(Sockets::of(workers, workers), scenario, without)),
        Kind::Classic => explore(&Pool::new(Classic, scenario, without)),
        Kind::Hints => explore(&Pool::new(Hints, scenario, without)),
    }
}

/// A pool of a few workers, and what there is to do.
#[derive(Debug, Clone)]
struct Pool<P> {
    protocol: P,
    scenario: Scenario,
    /// What is left out of the pool, to see that it is needed.
    without: Vec<Guard>,
}

/// Where a pool stands.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct PoolState<S, I, C> {
    world: World,
    shared: S,
    workers: ArrayVec<Worker<I, C>, MAX_WORKERS>,
    posters: ArrayVec<Poster<C>, MAX_OTHERS>,
    guests: ArrayVec<Guest<C>, MAX_OTHERS>,
}

/// Where a pool with this protocol stands.
type StateOf<P> = PoolState<<P as Protocol>::Shared, <P as Protocol>::Idle, <P as Protocol>::Call>;

/// What an actor does next, while it is in a call of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Calling<C> {
    call: C,
    /// Which of the sources it looks at next, while it looks for the protocol.
    look: Option<(Look, u8)>,
    /// A note that it makes for the accounting, after a last look that has found nothing.
    note: Option<(u8, Noting)>,
}

/// What was done in a step of a call, and the answer if the call has ended.
type CallStep<I> = (String, Option<Answer<I>>);

impl<P: Protocol> Pool<P> {
    fn new(protocol: P, scenario: Scenario, without: &[Guard]) -> Self {
        Self {
            protocol,
            scenario,
            without: without.to_vec(),
        }
    }

    fn has(&self, guard: Guard) -> bool {
        !self.without.contains(&guard)
    }

    fn begin(&self, request: Request<P::Idle>) -> Calling<P::Call> {
        Calling {
            call: self.protocol.begin(request),
            look: None,
            note: None,
        }
    }

    /// Makes one step of a call. Returns what was done, and the answer if the call has ended.
    fn step_call(
        &self,
        world: &mut World,
        shared: &mut P::Shared,
        calling: &mut Calling<P::Call>,
    ) -> Result<CallStep<P::Idle>, Stop> {
        if let Some((worker, noting)) = &mut calling.note {
            let (what, is_made) = noting.step(world, &self.without)?;
            if is_made {
                world.leave_seat(*worker);
                calling.note = None;
                self.protocol.answer(&mut calling.call, false);
            }
            return Ok((what.to_owned(), None));
        }
        if let Some((look, source)) = &mut calling.look {
            let leaves_out = |worker| self.protocol.leaves_out(shared, worker);
            let (finds, what) = world.look(*look, *source, leaves_out);
            *source += 1;
            if finds || *source == world.num_sources(*look) {
                let look = *look;
                calling.look = None;
                // What a worker does in its last look, after it has found nothing.
                if !finds && let Look::Last(worker) = look {
                    if self.scenario.has_accounting() {
                        let noting = Noting::new(Note::Sleep(worker));
                        calling.note = Some((worker, noting));
                        return Ok((what, None));
                    }
                    world.leave_seat(worker);
                }
                self.protocol.answer(&mut calling.call, finds);
            }
            return Ok((what, None));
        }
        let without = &self.without;
        let flow = self
            .protocol
            .step(world, shared, &mut calling.call, without)?;
        match flow {
            Flow::Blocked => Err(Stop::Waits),
            Flow::GoesOn(what) => Ok((what.to_owned(), None)),
            Flow::Looks(look, what) => {
                calling.look = Some((look, 0));
                Ok((what.to_owned(), None))
            }
            Flow::Ends(answer, what) => Ok((what.to_owned(), Some(answer))),
        }
    }
}

/// Where an actor is after a step, and what it has done.
type Step<A> = Result<(A, String), Stop>;

/// Why an actor makes no step.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Stop {
    /// It waits for others, or has ended.
    Waits,
    /// The step would break this rule.
    Breaks(String),
}

impl From<String> for Stop {
    fn from(rule: String) -> Self {
        Self::Breaks(rule)
    }
}

impl<P: Protocol> Pool<P> {
    /// Makes one step of a call for an actor. `stays` says where the actor is while the call goes
    /// on, and `next` where it is when the call has ended.
    fn advance<A>(
        &self,
        world: &mut World,
        shared: &mut P::Shared,
        mut calling: Calling<P::Call>,
        stays: impl FnOnce(Calling<P::Call>) -> A,
        next: impl FnOnce(&mut World, Answer<P::Idle>) -> A,
    ) -> Step<A> {
        let (what, answer) = self.step_call(world, shared, &mut calling)?;
        let at = match answer {
            None => stays(calling),
            Some(answer) => next(world, answer),
        };
        Ok((at, what))
    }

    /// Makes one step of a note, in the same way.
    fn advance_note<A>(
        &self,
        world: &mut World,
        mut noting: Noting,
        stays: impl FnOnce(Noting) -> A,
        next: impl FnOnce(&mut World) -> A,
    ) -> Step<A> {
        let (what, is_made) = noting.step(world, &self.without)?;
        let at = match is_made {
            false => stays(noting),
            true => next(world),
        };
        Ok((at, what.to_owned()))
    }
}

impl<P: Protocol> Model for Pool<P> {
    type State = StateOf<P>;

    fn initial(&self) -> StateOf<P> {
        let Scenario {
            workers,
            posts,
            guests,
            ..
        } = self.scenario;
        PoolState {
            world: World::new(workers),
            shared: P::Shared::default(),
            workers: (0..workers).map(Worker::new).collect(),
            posters: posts.iter().map(|_| Poster::new()).collect(),
            guests: (0..guests).map(|_| Guest::new()).collect(),
        }
    }

    fn num_actors(&self) -> usize {
        usize::from(self.scenario.workers + self.scenario.guests) + self.scenario.posts.len()
    }

    fn name(&self, actor: usize) -> String {
        let Scenario { workers, posts, .. } = &self.scenario;
        match actor.checked_sub(usize::from(*workers)) {
            None => format!("worker {actor}"),
            Some(poster) if poster < posts.len() => format!("poster {poster}"),
            Some(other) => format!("guest {}", other - posts.len()),
        }
    }

    fn step(&self, state: &mut StateOf<P>, actor: usize) -> Result<Option<String>, String> {
        let PoolState {
            world,
            shared,
            workers,
            posters,
            guests,
        } = state;
        let num_workers = workers.len();
        let step = match actor.checked_sub(num_workers) {
            None => workers[actor].step(self, world, shared),
            Some(poster) if poster < posters.len() => {
                posters[poster].step(self, poster as u8, world, shared)
            }
            Some(other) => guests[other - posters.len()].step(self, world, shared),
        };
        let what = match step {
            Ok(what) => what,
            Err(Stop::Waits) => return Ok(None),
            Err(Stop::Breaks(rule)) => return Err(rule),
        };
        self.protocol.check(world, shared)?;
        Ok(Some(what))
    }

    fn has_ended(&self, state: &StateOf<P>) -> Result<bool, String> {
        let is_all_over = state.workers.iter().all(Worker::has_ended)
            && state.posters.iter().all(Poster::has_ended)
            && state.guests.iter().all(Guest::has_ended);
        if is_all_over {
            state.world.check_end()?;
            let reports = state.world.accounting.reports;
            if reports != self.scenario.num_reports() {
                return Err(format!("{reports} deadlocks were reported"));
            }
            self.protocol.check_end(&state.shared)?;
        }
        Ok(is_all_over)
    }

    /// Whether a job waits that a worker may take which sleeps, and which no thread is waking.
    fn is_wasteful(&self, state: &StateOf<P>) -> bool {
        state.world.is_wasteful()
    }
}
