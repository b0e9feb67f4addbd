//! A thread outside the pool that queues jobs, and stops the pool at the end.

use super::{
    Calling, Pool,
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
    ) -> Result<Option<String>, String> {
        let (next, what) = match self.at {
            At::Ended => return Ok(None),
            At::Does(done) => match pool.scenario.posts[usize::from(number)].get(usize::from(done))
            {
                Some(&post) => {
                    let Some(step) = begin_post(pool, world, post, done) else {
                        return Ok(None);
                    };
                    step
                }
                None if number > 0 => (At::Ended, "has done everything".to_owned()),
                // The first one waits for all jobs, those of guests included.
                None if world.ended < pool.scenario.num_jobs() + pool.scenario.guests => {
                    return Ok(None);
                }
                None => (At::Stops(0), "sees that all jobs have ended".to_owned()),
            },
            At::Announces(done, mut calling) => {
                let Some((what, answer)) = pool.step_call(world, shared, &mut calling)? else {
                    return Ok(None);
                };
                match answer {
                    None => (At::Announces(done, calling), what),
                    Some(_) => {
                        world.announcing -= 1;
                        (At::Does(done + 1), what)
                    }
                }
            }
            At::Resolves(done, mut noting) => {
                let Some((what, is_made)) = noting.step(world, &pool.without)? else {
                    return Ok(None);
                };
                world.accounting.is_released |= is_made;
                match is_made {
                    false => (At::Resolves(done, noting), what.to_owned()),
                    true => (At::Does(done + 1), what.to_owned()),
                }
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
            At::Wakes(worker, mut calling) => {
                let Some((what, answer)) = pool.step_call(world, shared, &mut calling)? else {
                    return Ok(None);
                };
                match answer {
                    None => (At::Wakes(worker, calling), what),
                    Some(_) => (At::Stops(worker + 1), what),
                }
            }
        };
        self.at = next;
        Ok(Some(what))
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
