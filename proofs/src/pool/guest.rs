//! A thread outside the pool that takes the place of a sleeping worker once.

use super::{
    Calling, Pool, Stop,
    guard::Guard,
    protocol::{Answer, Protocol, Request},
    scenario::GuestsWait,
    world::{Seat, Source, World},
};

/// A guest. Its closure queues a job, and waits for it: it runs the job itself if no worker has
/// taken it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Guest<C> {
    at: At<C>,
    /// How many jobs were queued when it came.
    earlier: u8,
}

/// Where a guest is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum At<C> {
    Comes,
    Borrows(Calling<C>),
    /// No worker was lent, so its job goes to the pool.
    Injects(Calling<C>),
    /// It is about to take the seat of this worker.
    Occupies(u8),
    /// It looks whether jobs wait that the host should run, at the source of this number.
    Looks(u8, u8),
    /// It announces the job that it has queued as this worker.
    Announces(u8, Calling<C>),
    /// It is about to take its job back.
    Pops(u8),
    /// It waits for its job, and perhaps for others.
    Waits(u8),
    GivesBack(Calling<C>),
    Ended,
}

impl<C: Copy + PartialEq> Guest<C> {
    pub(super) fn new() -> Self {
        Self {
            at: At::Comes,
            earlier: 0,
        }
    }

    pub(super) fn has_ended(&self) -> bool {
        self.at == At::Ended
    }

    pub(super) fn step<P: Protocol<Call = C>>(
        &mut self,
        pool: &Pool<P>,
        world: &mut World,
        shared: &mut P::Shared,
    ) -> Result<String, Stop> {
        let (next, what) = match self.at {
            At::Ended => return Err(Stop::Waits),
            At::Comes => {
                self.earlier = world.queued;
                let calling = pool.begin(Request::BorrowSleeper);
                (At::Borrows(calling), "asks for a sleeper".to_owned())
            }
            At::Borrows(calling) => {
                pool.advance(world, shared, calling, At::Borrows, |world, answer| {
                    match answer {
                        Answer::Lent(Some(worker)) => At::Occupies(worker),
                        _ => {
                            let queue_was_empty = world.injected == 0;
                            world.injected += 1;
                            world.queued += 1;
                            // Its job goes to the pool.
                            At::Injects(pool.begin(Request::Announce {
                                is_injected: true,
                                count: 1,
                                queue_was_empty,
                            }))
                        }
                    }
                })?
            }
            At::Injects(calling) => {
                let stays = At::Injects;
                pool.advance(world, shared, calling, stays, |_, _| At::Ended)?
            }
            At::Occupies(worker) => {
                let seat = &mut world.place(worker).seat;
                if *seat != Seat::Vacant {
                    return Err(Stop::Breaks(
                        "a worker is lent whose seat is not vacant".to_owned(),
                    ));
                }
                *seat = Seat::Guest;
                (
                    At::Looks(worker, 1),
                    format!("takes the seat of worker {worker}"),
                )
            }
            At::Looks(worker, number) => match world.source(worker, number) {
                Some(source) if world.holds(source) && pool.has(Guard::GuestLeavesToHost) => {
                    // Its closure may wait for that job. So it goes to the pool.
                    world.injected += 1;
                    world.queued += 1;
                    let what = format!("sees something in {source:?}, and queues its job");
                    (give_back(pool, world, worker), what)
                }
                Some(source) => (
                    At::Looks(worker, number + 1),
                    format!("looks at {source:?}"),
                ),
                None => {
                    world.place(worker).deque += 1;
                    world.queued += 1;
                    let calling = pool.begin(Request::Announce {
                        is_injected: false,
                        count: 1,
                        queue_was_empty: true,
                    });
                    (At::Announces(worker, calling), "queues a job".to_owned())
                }
            },
            At::Announces(worker, calling) => {
                let stays = |calling| At::Announces(worker, calling);
                pool.advance(world, shared, calling, stays, |_, _| At::Pops(worker))?
            }
            At::Pops(worker) if world.take(Source::Deque(worker)) => {
                world.begun += 1;
                world.ended += 1;
                (At::Waits(worker), "runs its own job".to_owned())
            }
            At::Pops(worker) => {
                let what = "finds that its job was stolen".to_owned();
                (At::Waits(worker), what)
            }
            At::Waits(worker) => {
                let awaited = match pool.scenario.guests_wait {
                    GuestsWait::ForNothing => 1,
                    GuestsWait::ForEarlierJobs => self.earlier + 1,
                    GuestsWait::ForAllJobs => pool.scenario.num_jobs() + 1,
                };
                if world.ended < awaited {
                    return Err(Stop::Waits);
                }
                let what = "sees that what it waits for has ended".to_owned();
                (give_back(pool, world, worker), what)
            }
            At::GivesBack(calling) => {
                let stays = At::GivesBack;
                pool.advance(world, shared, calling, stays, |_, _| At::Ended)?
            }
        };
        self.at = next;
        Ok(what)
    }
}

/// Leaves the seat, and begins to give the worker back.
fn give_back<P: Protocol>(pool: &Pool<P>, world: &mut World, worker: u8) -> At<P::Call> {
    world.leave_seat(worker);
    At::GivesBack(pool.begin(Request::GiveBack(worker)))
}
