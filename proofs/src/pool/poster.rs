//! A thread outside the pool that queues jobs, and stops the pool at the end.

use super::{
    Calling, Pool, Stop,
    accounting::{Note, Noting},
    guard::Guard,
    protocol::{Protocol, Request},
    scenario::Post,
    world::{Latch, World},
};

/// A poster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Poster<C> {
    at: At<C>,
}

/// Where a poster is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum At<C> {
    /// It is about to do what has this number.
    Does(u8),
    /// It announces what it has queued.
    Announces(u8, Calling<C>),
    /// It tells the accounting that the blocked workers go on.
    Resolves(u8, Noting),
    /// It is about to set the latch of this worker.
    Stops(u8),
    /// It wakes this worker, whose latch it has set.
    Wakes(u8, Calling<C>),
    Ended,
}

impl<C: Copy + PartialEq> Poster<C> {
    pub(super) fn new() -> Self {
        Self { at: At::Does(0) }
    }

    pub(super) fn has_ended(&self) -> bool {
        self.at == At::Ended
    }

    pub(super) fn step<P: Protocol<Call = C>>(
        &mut self,
        pool: &Pool<P>,
        number: u8,
        world: &mut World,
        shared: &mut P::Shared,
    ) -> Result<String, Stop> {
        let (next, what) = match self.at {
            At::Ended => return Err(Stop::Waits),
            At::Does(done) => match pool.scenario.posts[usize::from(number)].get(usize::from(done))
            {
                Some(&post) => begin_post(pool, world, post, done).ok_or(Stop::Waits)?,
                None if number > 0 => (At::Ended, "has done everything".to_owned()),
                // The first one waits for all jobs, those of guests included.
                None if world.queued < pool.scenario.num_jobs() + pool.scenario.guests
                    || world.ended < world.queued =>
                {
                    return Err(Stop::Waits);
                }
                None => (At::Stops(0), "sees that all jobs have ended".to_owned()),
            },
            At::Announces(done, calling) => {
                let stays = |calling| At::Announces(done, calling);
                pool.advance(world, shared, calling, stays, |world, _| {
                    world.announcing -= 1;
                    At::Does(done + 1)
                })?
            }
            At::Resolves(done, noting) => {
                let stays = |noting| At::Resolves(done, noting);
                pool.advance_note(world, noting, stays, |world| {
                    world.accounting.is_released = true;
                    At::Does(done + 1)
                })?
            }
            At::Stops(worker) if worker == world.num_workers() => {
                (At::Ended, "has stopped all workers".to_owned())
            }
            At::Stops(worker) => {
                let old = std::mem::replace(&mut world.place(worker).latch, Latch::Set);
                let what = format!("sets the latch of worker {worker}, which was {old:?}");
                if old == Latch::Sleeping && pool.has(Guard::SetterWakes) {
                    let calling = pool.begin(Request::WakeWorker(worker));
                    (At::Wakes(worker, calling), what)
                } else {
                    (At::Stops(worker + 1), what)
                }
            }
            At::Wakes(worker, calling) => {
                let stays = |calling| At::Wakes(worker, calling);
                pool.advance(world, shared, calling, stays, |_, _| At::Stops(worker + 1))?
            }
        };
        self.at = next;
        Ok(what)
    }
}

/// Begins what a poster does. None if it must wait.
fn begin_post<P: Protocol>(
    pool: &Pool<P>,
    world: &mut World,
    post: Post,
    done: u8,
) -> Option<(At<P::Call>, String)> {
    match post {
        Post::Jobs(count) => {
            let queue_was_empty = world.injected == 0;
            world.injected += count;
            world.announcing += 1;
            world.queued += count;
            let calling = pool.begin(Request::Announce {
                is_injected: true,
                count,
                queue_was_empty,
            });
            Some((At::Announces(done, calling), format!("queues {count} jobs")))
        }
        Post::JobFor(worker) => {
            world.place(worker).inbox += 1;
            world.queued += 1;
            let what = format!("queues a job for worker {worker}");
            if !pool.has(Guard::OwnerIsWoken) {
                return Some((At::Does(done + 1), what));
            }
            world.announcing += 1;
            let calling = pool.begin(Request::AnnounceFor(worker));
            Some((At::Announces(done, calling), what))
        }
        Post::Resolve => {
            let noting = Noting::new(Note::Release);
            let what = "sees that a deadlock is reported".to_owned();
            (world.accounting.reports > 0).then_some((At::Resolves(done, noting), what))
        }
        Post::WaitFor(count) => {
            let what = format!("sees that {count} jobs have ended");
            (world.ended >= count).then_some((At::Does(done + 1), what))
        }
    }
}
