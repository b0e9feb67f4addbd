//! A worker, from its first search to its end.

use super::{
    Calling, Pool, Step, Stop,
    accounting::{Note, Noting},
    guard::Guard,
    protocol::{Answer, Protocol, Request},
    scenario::Jobs,
    world::{Latch, Seat, Source, World},
};

/// A worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Worker<I, C> {
    index: u8,
    at: At<I, C>,
    /// Where the job lay below which the worker waits, if it does.
    below: Option<Source>,
}

/// A worker, and which thread may use it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Seated<I, C> {
    pub(super) worker: Worker<I, C>,
    pub(super) seat: Seat,
}

/// Whether a worker has slept since it began to search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) enum Slept {
    #[default]
    Not,
    /// It was woken, and has not searched since.
    Woken,
    /// It was woken, and has found nothing since.
    InVain,
}

/// Where a worker is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum At<I, C> {
    /// It is active, and about to search.
    Active,
    StartsLooking(Calling<C>),
    /// It is about to look at its latch.
    Probes(I),
    /// It is about to look for a job in the source of this number.
    Searches(I, u8),
    FoundNothing(Calling<C>),
    /// It has been woken, and takes its seat back.
    Reclaims(I),
    /// It tells the accounting that it is awake.
    Wakes(I, Noting),
    FoundJob(Calling<C>, Source),
    Runs(Source, Stage<C>),
    /// What it waited for below a job has ended.
    Returns(Calling<C>),
    Leaves(Calling<C>),
    Ended,
}

/// How far a job is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Stage<C> {
    Begins,
    /// It is blocked, when the note is made.
    Blocks(Noting),
    /// It waits until it is released.
    WaitsForRelease,
    /// It waits until another one is blocked, to release it.
    WaitsForBlocked,
    Releases(Noting),
    Announces(Calling<C>),
    Waits,
    /// It has queued its second half, and is about to take it back.
    TakesBack,
    /// It was the second half of another worker's job, and has ended.
    SetsLatch(u8),
    /// It wakes that worker.
    WakesWaiter(Calling<C>),
}

impl<I: Copy + PartialEq + Default, C: Copy + PartialEq> Worker<I, C> {
    pub(super) fn new(index: u8) -> Self {
        Self {
            index,
            at: At::Active,
            below: None,
        }
    }

    pub(super) fn has_ended(&self) -> bool {
        self.at == At::Ended
    }

    pub(super) fn step<P: Protocol<Idle = I, Call = C>>(
        &mut self,
        pool: &Pool<P>,
        world: &mut World,
        shared: &mut P::Shared,
    ) -> Result<String, Stop> {
        let me = self.index;
        let (next, what) = match self.at {
            At::Ended => return Err(Stop::Waits),
            // What no other actor can see is part of the next step.
            At::Active => {
                self.at = At::StartsLooking(pool.begin(Request::StartLooking(me)));
                return self.step(pool, world, shared);
            }
            At::StartsLooking(calling) => {
                let stays = At::StartsLooking;
                pool.advance(world, shared, calling, stays, |_, answer| {
                    At::Probes(idle_of(answer))
                })?
            }
            At::Probes(idle) if *world.awaited_latch(me) == Latch::Set => {
                let calling = pool.begin(Request::WorkFound(me, idle));
                let next = match self.below {
                    Some(_) => At::Returns(calling),
                    None => At::Leaves(calling),
                };
                (next, "sees that its latch is set".to_owned())
            }
            At::Probes(idle) => (
                At::Searches(idle, 0),
                "sees that its latch is not set".to_owned(),
            ),
            At::Searches(idle, number) => match world.source(me, number) {
                Some(source @ Source::Deque(other))
                    if other != me && pool.protocol.leaves_out(shared, other) =>
                {
                    let what = format!("leaves {source:?} out");
                    (At::Searches(idle, number + 1), what)
                }
                Some(source) if world.take(source) => {
                    let calling = pool.begin(Request::WorkFound(me, idle));
                    let what = format!("takes a job from {source:?}");
                    (At::FoundJob(calling, source), what)
                }
                Some(source) => {
                    let what = format!("finds no job in {source:?}");
                    (At::Searches(idle, number + 1), what)
                }
                None => {
                    self.at = At::FoundNothing(pool.begin(Request::NoWorkFound(me, idle)));
                    return self.step(pool, world, shared);
                }
            },
            At::FoundNothing(calling) => {
                let stays = At::FoundNothing;
                pool.advance(world, shared, calling, stays, |_, answer| {
                    At::Reclaims(idle_of(answer))
                })?
            }
            At::Reclaims(idle) => {
                let seat = &mut world.place(me).seat;
                if *seat == Seat::Guest && pool.has(Guard::HostReclaims) {
                    return Err(Stop::Waits);
                }
                if *seat == Seat::Guest {
                    return Err(Stop::Breaks(
                        "the host uses the worker beside a guest".to_owned(),
                    ));
                }
                *seat = Seat::Host;
                let next = match pool.scenario.has_accounting() {
                    true => At::Wakes(idle, Noting::new(Note::Wake(me))),
                    false => At::Probes(idle),
                };
                (next, "has its seat".to_owned())
            }
            At::Wakes(idle, noting) => {
                let stays = |noting| At::Wakes(idle, noting);
                pool.advance_note(world, noting, stays, |_| At::Probes(idle))?
            }
            At::FoundJob(calling, source) => {
                let stays = |calling| At::FoundJob(calling, source);
                let next = |_: &mut World, _| At::Runs(source, Stage::Begins);
                pool.advance(world, shared, calling, stays, next)?
            }
            At::Runs(source, stage) => self.run(pool, world, shared, source, stage)?,
            At::Returns(calling) => {
                let below = &mut self.below;
                pool.advance(world, shared, calling, At::Returns, |world, _| {
                    *below = None;
                    world.place(me).is_below_job = false;
                    world.end_job();
                    At::Active
                })?
            }
            At::Leaves(calling) => {
                let stays = At::Leaves;
                pool.advance(world, shared, calling, stays, |_, _| At::Ended)?
            }
        };
        self.at = next;
        Ok(what)
    }

    /// Makes one step of a job that lay in `source`.
    fn run<P: Protocol<Idle = I, Call = C>>(
        &mut self,
        pool: &Pool<P>,
        world: &mut World,
        shared: &mut P::Shared,
        source: Source,
        stage: Stage<C>,
    ) -> Step<At<I, C>> {
        let me = self.index;
        let jobs = pool.scenario.jobs;
        let is_on_deque = matches!(source, Source::Deque(_));
        // A job that a worker runs while it waits below another one is short, so that the depth is
        // one.
        let joins = jobs == Jobs::Join && !is_on_deque && self.below.is_none();
        let forks = jobs == Jobs::Fork && !is_on_deque;
        // So many jobs must have begun before this one ends.
        let needed = match jobs {
            // What lies on a deque is a guest's job, or that of a fork.
            _ if is_on_deque => 0,
            Jobs::NeedEachOther(count) => count,
            Jobs::Fork => 2,
            Jobs::Short | Jobs::Join | Jobs::Block | Jobs::BlockAndRelease => 0,
        };
        let blocks = match jobs {
            Jobs::Block => true,
            Jobs::BlockAndRelease => world.begun == 0,
            _ => false,
        };
        Ok(match stage {
            Stage::Begins => {
                world.begun += 1;
                world.running += 1;
                if blocks {
                    let noting = Noting::new(Note::Block(me));
                    let what = "begins a job that is blocked".to_owned();
                    (At::Runs(source, Stage::Blocks(noting)), what)
                } else if jobs == Jobs::BlockAndRelease {
                    let what = "begins a job that releases another one".to_owned();
                    (At::Runs(source, Stage::WaitsForBlocked), what)
                } else if let Source::Deque(waiter) = source
                    && jobs == Jobs::Join
                {
                    world.end_job();
                    let what = "runs the second half of a job".to_owned();
                    (At::Runs(source, Stage::SetsLatch(waiter)), what)
                } else if forks || joins {
                    world.place(me).join = Latch::Unset;
                    world.place(me).deque += 1;
                    world.queued += 1;
                    let calling = pool.begin(Request::Announce {
                        is_injected: false,
                        count: 1,
                        queue_was_empty: true,
                    });
                    let what = "begins a job, and queues another one".to_owned();
                    (At::Runs(source, Stage::Announces(calling)), what)
                } else if needed == 0 {
                    world.end_job();
                    (At::Active, "runs a job".to_owned())
                } else {
                    (At::Runs(source, Stage::Waits), "begins a job".to_owned())
                }
            }
            Stage::Announces(calling) => {
                let stays = |calling| At::Runs(source, Stage::Announces(calling));
                let then = match jobs {
                    Jobs::Join => Stage::TakesBack,
                    _ => Stage::Waits,
                };
                let next = |_: &mut World, _| At::Runs(source, then);
                pool.advance(world, shared, calling, stays, next)?
            }
            Stage::TakesBack if world.take(Source::Deque(me)) => {
                // Its second half.
                world.begun += 1;
                world.running += 1;
                world.end_job();
                world.end_job();
                let what = "takes its second half back, and runs it".to_owned();
                (At::Active, what)
            }
            Stage::TakesBack => {
                self.below = Some(source);
                world.place(me).is_below_job = true;
                let what = "finds that its second half was stolen".to_owned();
                (At::Active, what)
            }
            Stage::SetsLatch(waiter) => {
                let old = std::mem::replace(&mut world.place(waiter).join, Latch::Set);
                let what = format!("sets the latch of worker {waiter}, which was {old:?}");
                if old == Latch::Sleeping && pool.has(Guard::ThiefWakes) {
                    let calling = pool.begin(Request::WakeWorker(waiter));
                    (At::Runs(source, Stage::WakesWaiter(calling)), what)
                } else {
                    (At::Active, what)
                }
            }
            Stage::WakesWaiter(calling) => {
                let stays = |calling| At::Runs(source, Stage::WakesWaiter(calling));
                pool.advance(world, shared, calling, stays, |_, _| At::Active)?
            }
            Stage::Waits => {
                if world.begun < needed {
                    return Err(Stop::Waits);
                }
                world.end_job();
                (At::Active, "ends its job".to_owned())
            }
            Stage::Blocks(noting) => {
                let stays = |noting| At::Runs(source, Stage::Blocks(noting));
                let next = |_: &mut World| At::Runs(source, Stage::WaitsForRelease);
                pool.advance_note(world, noting, stays, next)?
            }
            Stage::WaitsForBlocked => {
                if !world.accounting.has_blocked() {
                    return Err(Stop::Waits);
                }
                let noting = Noting::new(Note::Release);
                let what = "sees that the other job is blocked".to_owned();
                (At::Runs(source, Stage::Releases(noting)), what)
            }
            Stage::Releases(noting) => {
                let stays = |noting| At::Runs(source, Stage::Releases(noting));
                pool.advance_note(world, noting, stays, |world| {
                    world.accounting.is_released = true;
                    At::Runs(source, Stage::Waits)
                })?
            }
            Stage::WaitsForRelease => {
                if !world.accounting.is_released {
                    return Err(Stop::Waits);
                }
                (At::Runs(source, Stage::Waits), "is released".to_owned())
            }
        })
    }
}

impl<I: Copy + PartialEq, C: Copy + PartialEq> Worker<I, C> {
    /// Returns what a trace shows of a step of this worker, as which it was `before`. `slept` is
    /// what the worker remembers for its trace.
    pub(super) fn shown(
        before: &Seated<I, C>,
        after: &Seated<I, C>,
        slept: &mut Slept,
    ) -> Vec<&'static str> {
        let (worker, next) = (before.worker, after.worker);
        let mut shown = Vec::new();
        match (worker.at, next.at) {
            (At::Active, _) => {
                *slept = Slept::Not;
                shown.push("idle");
            }
            (At::Searches(..), At::FoundJob(_, Source::Deque(owner))) if owner != next.index => {
                shown.push("steal");
            }
            (At::Searches(..), At::Searches(..) | At::FoundJob(..)) => {}
            (At::Searches(..), _) if *slept == Slept::Woken => {
                *slept = Slept::InVain;
                shown.push("idle");
            }
            (At::Reclaims(_), _) if before.seat != Seat::Host => {
                *slept = Slept::Woken;
                shown.push("wake");
            }
            (At::FoundJob(..), At::Runs(..)) => shown.push("found"),
            (At::Leaves(_), At::Ended) => shown.extend(["stop", "leave"]),
            (At::Returns(_), At::Active) => shown.extend(["latch", "job-end"]),
            (At::Runs(_, Stage::Begins), _) => shown.push("job"),
            (At::Runs(_, Stage::SetsLatch(_)), _) => shown.push("latch-set"),
            (At::Runs(_, Stage::Blocks(_)), At::Runs(_, Stage::WaitsForRelease)) => {
                shown.push("blocked");
            }
            (At::Runs(_, Stage::WaitsForRelease), At::Runs(..)) => shown.push("unblocked"),
            _ => {}
        }
        let begins_to_wait = worker.below.is_none() && next.below.is_some();
        if matches!((worker.at, next.at), (At::Runs(..), At::Active)) && !begins_to_wait {
            shown.push("job-end");
        }
        if before.seat == Seat::Host && after.seat != Seat::Host {
            if *slept == Slept::InVain {
                shown.push("fruitless");
            }
            shown.push("sleep");
        }
        shown
    }
}

fn idle_of<I: Default>(answer: Answer<I>) -> I {
    match answer {
        Answer::Idle(idle) => idle,
        Answer::None | Answer::Lent(_) => I::default(),
    }
}
