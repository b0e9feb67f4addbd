//! The protocol `Sockets` of sleep-core, step by step: a `Jec` for each socket, and a word that
//! says in which of them workers sleep.

mod call;

use super::{
    guard::Guard,
    jec::{self, Jec},
    protocol::{Answer, Flow, Protocol, Request},
    world::{Look, MAX_WORKERS, World},
};
pub(super) use call::Call;
use call::{After, Waking};

/// How many workers a thread wakes in each other socket.
const SEEDS: u8 = 2;
/// A worker that has found a job wakes workers of other sockets only if at least one in so many
/// workers of its own socket runs a job.
const BUSY_PART: u8 = 4;
/// So many idle workers of its own socket suffice for a worker that has found a job. As in the
/// model of `Jec`.
const MANY_IDLE: u8 = 1;

/// `Sockets`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sockets {
    /// The number of workers of each socket but the last.
    each: u8,
    workers: u8,
}

/// In which sockets workers may sleep, and the counters of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) struct Shared {
    asleep: [bool; MAX_WORKERS],
    sockets: [jec::Shared; MAX_WORKERS],
}

impl Sockets {
    /// Returns the protocol of so many workers, with so many in each socket but the last.
    pub(super) fn of(workers: u8, each: u8) -> Self {
        Self { each, workers }
    }

    fn num_sockets(self) -> u8 {
        self.workers.div_ceil(self.each)
    }

    fn socket_of(self, worker: u8) -> u8 {
        worker / self.each
    }

    fn jec(self, socket: u8) -> Jec {
        let first = socket * self.each;
        Jec::of(first..self.workers.min(first + self.each))
    }

    /// Begins a call of the protocol of a worker's socket.
    fn inner(self, worker: u8, request: Request<jec::Idle>, after: After) -> Call {
        let socket = self.socket_of(worker);
        Call::Inner(socket, self.jec(socket).begin(request), after)
    }

    /// Returns what a worker that has found a job does to wake workers of other sockets.
    fn seeds(self, worker: u8) -> Call {
        // Each worker begins with another socket.
        let first = worker % self.each * self.each % self.workers;
        self.walk(Waking {
            home: self.socket_of(worker),
            next: self.socket_of(first),
            passed: 0,
            left: SEEDS,
            queue_was_empty: true,
        })
    }

    /// Returns what comes next in a walk: nothing, if it is at its end.
    fn walk(self, mut waking: Waking) -> Call {
        let sockets = self.num_sockets();
        while waking.left > 0 && waking.passed < sockets {
            let socket = waking.next;
            waking.next = (socket + 1) % sockets;
            waking.passed += 1;
            if socket != waking.home {
                return Call::PassesBy(socket, waking);
            }
        }
        Call::Nothing
    }

    /// Returns what wakes the workers of a socket from this one on, and then goes on with a walk.
    fn wake_from(self, socket: u8, worker: u8, waking: Waking) -> Call {
        if worker == self.jec(socket).workers().end {
            return self.walk(waking);
        }
        let after = After::WakesNext(worker + 1, waking);
        self.inner(worker, Request::AnnounceFor(worker), after)
    }

    /// Returns what a worker does that has found a job, and that has told its own socket.
    fn found(self, worker: u8, answer: Option<bool>, without: &[Guard]) -> Call {
        match answer == Some(false) || without.contains(&Guard::SocketCascade) {
            true => Call::Nothing,
            false => Call::Found(worker, answer),
        }
    }

    /// Makes the next step of a call of a socket's protocol.
    fn step_inner(
        self,
        world: &mut World,
        shared: &mut Shared,
        (socket, mut inner, after): (u8, jec::Call, After),
        without: &[Guard],
    ) -> Result<(Flow<jec::Idle>, Call), String> {
        let counters = &mut shared.sockets[usize::from(socket)];
        let flow = self
            .jec(socket)
            .step(world, counters, &mut inner, without)?;
        let looks_last = matches!(
            inner,
            jec::Call::LooksLast(_) | jec::Call::GivesBackLooks(_)
        );
        let (answer, what) = match flow {
            Flow::Ends(answer, what) => (answer, what),
            Flow::GoesOn(_) if looks_last && !without.contains(&Guard::SocketIsNoted) => {
                return Ok((flow, Call::Notes(socket, inner, after)));
            }
            flow => return Ok((flow, Call::Inner(socket, inner, after))),
        };
        let next = match after {
            After::Ends => Call::Nothing,
            After::Found(worker, answer) => self.found(worker, answer, without),
            After::Forgets(waking) => Call::Forgets(socket, waking),
            After::WakesNext(worker, waking) => self.wake_from(socket, worker, waking),
            After::Borrows if answer == Answer::Lent(None) && socket + 1 < self.num_sockets() => {
                Call::BorrowsIn(socket + 1)
            }
            After::Borrows => Call::Nothing,
        };
        let flow = match next {
            Call::Nothing => Flow::Ends(answer, what),
            _ => Flow::GoesOn(what),
        };
        Ok((flow, next))
    }
}

impl Protocol for Sockets {
    type Shared = Shared;
    type Idle = jec::Idle;
    type Call = Call;

    fn begin(&self, request: Request<jec::Idle>) -> Call {
        match request {
            Request::StartLooking(worker)
            | Request::NoWorkFound(worker, _)
            | Request::AnnounceFor(worker)
            | Request::WakeWorker(worker)
            | Request::GiveBack(worker) => self.inner(worker, request, After::Ends),
            Request::WorkFound(worker, _) => {
                self.inner(worker, request, After::Found(worker, None))
            }
            Request::Announce {
                count,
                queue_was_empty,
                ..
            } => Call::Announce(count, queue_was_empty),
            Request::BorrowSleeper => Call::BorrowsIn(0),
        }
    }

    fn step(
        &self,
        world: &mut World,
        shared: &mut Shared,
        call: &mut Call,
        without: &[Guard],
    ) -> Result<Flow<jec::Idle>, String> {
        let has = |guard| !without.contains(&guard);
        let ends = |what| Ok(Flow::Ends(Answer::None, what));
        let may_sleep = |socket: u8| shared.asleep[usize::from(socket)];
        let counters = |socket: u8| shared.sockets[usize::from(socket)];
        let (next, what) = match *call {
            Call::Inner(socket, inner, after) => {
                let (flow, next) =
                    self.step_inner(world, shared, (socket, inner, after), without)?;
                *call = next;
                return Ok(flow);
            }
            Call::Notes(socket, inner, after) if may_sleep(socket) => {
                let next = Call::Inner(socket, inner, after);
                (next, "sees that its socket has its bit")
            }
            Call::Notes(socket, inner, after) => {
                let next = Call::NotesClear(socket, inner, after);
                (next, "sees that its socket has no bit")
            }
            Call::NotesClear(socket, inner, after) => {
                shared.asleep[usize::from(socket)] = true;
                (
                    Call::Inner(socket, inner, after),
                    "sets the bit of its socket",
                )
            }
            Call::Found(worker, answer) => {
                let jec = self.jec(self.socket_of(worker));
                let counters = counters(self.socket_of(worker));
                let workers = jec.workers().len() as u8;
                if jec.num_active(&counters) * BUSY_PART < workers
                    || counters.awake_but_idle() >= MANY_IDLE
                {
                    return ends("leaves the rest to its own socket");
                }
                (
                    Call::FoundLooks(worker, answer),
                    "sees that its socket is busy",
                )
            }
            Call::FoundLooks(worker, answer) => {
                let home = self.socket_of(worker);
                let mut others = (0..self.num_sockets()).filter(|&socket| socket != home);
                if !others.any(may_sleep) {
                    return ends("sees that all workers of other sockets are awake");
                }
                let what = "sees that workers of other sockets sleep";
                if answer.is_none() {
                    *call = Call::FoundAsks(worker);
                    return Ok(Flow::Looks(Look::More(0), what));
                }
                (self.seeds(worker), what)
            }
            Call::FoundAsks(_) => return Err("the pool has not answered".to_owned()),
            Call::Announce(count, queue_was_empty) => {
                if !(0..self.num_sockets()).any(may_sleep) || !has(Guard::PosterWakes) {
                    return ends("sees that all workers are awake");
                }
                let waking = Waking {
                    home: 0,
                    next: 0,
                    passed: 0,
                    left: count,
                    queue_was_empty,
                };
                (Call::Counts(0, count, waking), "sees that workers sleep")
            }
            Call::PassesBy(socket, waking) if may_sleep(socket) => {
                let next = Call::Counts(socket, SEEDS, waking);
                (next, "sees the bit of a socket")
            }
            Call::PassesBy(_, waking) => (self.walk(waking), "passes by a socket"),
            Call::Counts(socket, limit, mut waking) => {
                let counters = counters(socket);
                let inactive = match waking.queue_was_empty || !has(Guard::Backlog) {
                    true => counters.inactive,
                    false => counters.sleeping,
                };
                let count = waking.left.min(limit);
                waking.left = waking.left.saturating_sub(inactive);
                let next = Call::LooksAtBit(socket, count, waking);
                (next, "counts the workers of a socket")
            }
            Call::LooksAtBit(socket, count, waking) if may_sleep(socket) => {
                let inner = jec::Call::Increments(count, waking.queue_was_empty);
                let next = Call::Inner(socket, inner, After::Forgets(waking));
                (next, "sees that workers of the socket sleep")
            }
            Call::LooksAtBit(_, _, waking) => {
                let what = "sees that all workers of the socket are awake";
                (self.walk(waking), what)
            }
            Call::Forgets(socket, waking) if counters(socket).sleeping == 0 => {
                let next = Call::ForgetsClear(socket, waking);
                (next, "sees that none sleeps there any more")
            }
            Call::Forgets(_, waking) => (self.walk(waking), "sees that others sleep there"),
            Call::ForgetsClear(socket, waking) => {
                let was_set = std::mem::take(&mut shared.asleep[usize::from(socket)]);
                let next = match was_set && has(Guard::ClearedThenLooks) {
                    true => Call::ForgetsLooks(socket, waking),
                    false => self.walk(waking),
                };
                (next, "clears the bit of the socket")
            }
            Call::ForgetsLooks(socket, waking) if counters(socket).sleeping == 0 => {
                (self.walk(waking), "sees once more that none sleeps there")
            }
            Call::ForgetsLooks(socket, waking) => {
                let next = Call::ForgetsSets(socket, waking);
                (next, "sees that a worker sleeps there")
            }
            Call::ForgetsSets(socket, waking) => {
                shared.asleep[usize::from(socket)] = true;
                let first = self.jec(socket).workers().start;
                let next = match has(Guard::SetAgainWakes) {
                    true => self.wake_from(socket, first, waking),
                    false => self.walk(waking),
                };
                (next, "sets the bit of the socket again")
            }
            Call::BorrowsIn(socket) if may_sleep(socket) => {
                let inner = self.jec(socket).begin(Request::BorrowSleeper);
                let next = Call::Inner(socket, inner, After::Borrows);
                (next, "sees that workers of a socket sleep")
            }
            Call::BorrowsIn(socket) if socket + 1 < self.num_sockets() => {
                let next = Call::BorrowsIn(socket + 1);
                (next, "sees that all workers of a socket are awake")
            }
            Call::BorrowsIn(_) => {
                return Ok(Flow::Ends(Answer::Lent(None), "sees that no worker sleeps"));
            }
            Call::Nothing => return ends("has nothing to do"),
        };
        *call = next;
        match next {
            Call::Nothing => ends(what),
            _ => Ok(Flow::GoesOn(what)),
        }
    }

    fn answer(&self, call: &mut Call, finds: bool) {
        match call {
            Call::Inner(socket, inner, after) => {
                if let (jec::Call::LooksForMore, After::Found(_, answer)) = (*inner, after) {
                    *answer = Some(finds);
                }
                self.jec(*socket).answer(inner, finds);
            }
            Call::FoundAsks(worker) if finds => *call = self.seeds(*worker),
            _ => *call = Call::Nothing,
        }
    }

    /// As `Jec` does, in each socket.
    fn leaves_out(&self, shared: &Shared, worker: u8) -> bool {
        let socket = self.socket_of(worker);
        self.jec(socket)
            .leaves_out(&shared.sockets[usize::from(socket)], worker)
    }

    fn check(&self, world: &World, shared: &Shared) -> Result<(), String> {
        (0..self.num_sockets()).try_for_each(|socket| {
            self.jec(socket)
                .check(world, &shared.sockets[usize::from(socket)])
        })
    }

    fn check_end(&self, shared: &Shared) -> Result<(), String> {
        (0..self.num_sockets()).try_for_each(|socket| {
            self.jec(socket)
                .check_end(&shared.sockets[usize::from(socket)])
        })
    }
}
