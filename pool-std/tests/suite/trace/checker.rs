//! Whether a trace is a legal history of a pool that is idle, and agrees with its metrics.

use std::{collections::HashMap, time::Duration};

use pool_std::{
    Counts, ThreadPool, WorkerMetrics, WorkerState,
    trace::{Event, SearchEnd, TimedEvent},
};

use super::transitions::{ABSENT, next_state};

/// The counters of two processors may differ.
const CLOCKS_DIFFER_BY: Duration = Duration::from_micros(10);

/// What has begun on a worker, and must end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Frame {
    Job,
    Guest,
    Label,
}

/// What the workers of a pool did, and what was counted.
#[derive(Clone)]
pub(super) struct History {
    pub(super) workers: Vec<OfWorker>,
    counts: Counts,
}

/// What one worker did.
#[derive(Clone)]
pub(super) struct OfWorker {
    index: usize,
    pub(super) number: u32,
    overwritten: usize,
    pub(super) events: Vec<TimedEvent>,
}

impl History {
    /// Returns the history of a pool that has nothing to do, when all its workers have fallen
    /// asleep.
    pub(super) fn of(pool: &ThreadPool) -> Self {
        loop {
            let metrics = pool.metrics();
            let counts = metrics.sum();
            let trace = pool.trace();
            // A worker counts before it keeps. One that was woken and has only counted that still
            // is in the state asleep.
            let sleeps = |it: &WorkerMetrics| {
                it.state == WorkerState::Asleep && it.counts.sleeps == it.counts.wakes + 1
            };
            let is_last = |event| matches!(event, Event::Sleep | Event::GuestLeft);
            let mut workers = trace.pools()[0].workers().iter();
            let are_last = workers.all(|it| it.events().last().is_some_and(|it| is_last(it.event)));
            let is_settled = metrics.workers().iter().all(sleeps) && are_last;
            if is_settled && pool.metrics().sum() == counts {
                let workers = trace.pools()[0].workers().iter().map(|worker| OfWorker {
                    index: worker.index(),
                    number: worker.number(),
                    overwritten: worker.overwritten(),
                    events: worker.events().to_vec(),
                });
                let workers = workers.collect();
                return Self { workers, counts };
            }
            std::thread::yield_now();
        }
    }

    /// Checks that a latch was set before each wait ended. Only for programs in which no thread
    /// outside the pool sets latches.
    ///
    /// # Errors
    /// What is wrong.
    pub(super) fn check_latches(&self) -> Result<(), String> {
        let mut workers = self.workers.iter();
        workers.try_for_each(|it| check_ends_of_waits(it, &self.workers))
    }

    /// Checks that it is legal, and returns how many events it has.
    ///
    /// # Errors
    /// What is wrong.
    pub(super) fn check(&self) -> Result<usize, String> {
        let workers = &self.workers;
        for worker in workers {
            check_order(worker).map_err(|error| format!("worker {}: {error}", worker.index))?;
        }
        check_wakers(workers)?;
        check_sums(workers, self.counts)?;
        check_steals(workers)?;
        Ok(workers.iter().map(|worker| worker.events.len()).sum())
    }
}

fn events(workers: &[OfWorker]) -> impl Iterator<Item = &TimedEvent> {
    workers.iter().flat_map(|worker| &worker.events)
}

/// Each event is one that the worker can come to, and what has begun ends.
fn check_order(worker: &OfWorker) -> Result<(), String> {
    if worker.overwritten > 0 {
        return Err(format!("{} events were overwritten", worker.overwritten));
    }
    let (mut state, mut last) = (ABSENT, Duration::ZERO);
    let mut frames = Vec::new();
    for it in &worker.events {
        if it.time < last {
            return Err(format!("{it:?} comes after {last:?}"));
        }
        last = it.time;
        let next = next_state(state, it.event, frames.is_empty());
        state = next.ok_or(format!("{it:?} while {state}, in {frames:?}"))?;
        let ends = match it.event {
            Event::Job(_) => {
                frames.push(Frame::Job);
                continue;
            }
            // The frames of a job use the worker while it waits.
            Event::GuestArrived if !frames.is_empty() => {
                return Err(format!("{it:?} in {frames:?}"));
            }
            Event::GuestArrived => {
                frames.push(Frame::Guest);
                continue;
            }
            Event::Label(_) => {
                frames.push(Frame::Label);
                continue;
            }
            Event::LabelEnd => Frame::Label,
            Event::JobEnd => Frame::Job,
            Event::GuestLeft => Frame::Guest,
            _ => continue,
        };
        if frames.pop() != Some(ends) {
            return Err(format!("{it:?} ends what has not begun"));
        }
    }
    match frames[..] {
        [] => Ok(()),
        _ => Err(format!("{frames:?} have not ended")),
    }
}

/// Each wait of a worker below a job ends after its latch was set: the first one after the first
/// latch, and so on. A latch that is set before the worker begins to search ends no search.
fn check_ends_of_waits(waiter: &OfWorker, workers: &[OfWorker]) -> Result<(), String> {
    let mut depth = 0_usize;
    let ends = waiter.events.iter().filter(|it| {
        match it.event {
            Event::Job(_) | Event::GuestArrived => depth += 1,
            Event::JobEnd | Event::GuestLeft => depth -= 1,
            _ => {}
        }
        depth > 0 && matches!(it.event, Event::Active(SearchEnd::Latch))
    });
    let is_set = |event| matches!(event, Event::LatchSet { waiter: it } if it == waiter.index);
    let sets = events(workers).filter(|it| is_set(it.event));
    let mut sets: Vec<_> = sets.map(|it| it.time).collect();
    sets.sort_unstable();
    let mut sets = sets.into_iter();
    for end in ends {
        match sets.next() {
            Some(set) if set <= end.time + CLOCKS_DIFFER_BY => {}
            set => return Err(format!("{end:?}, but the latch was set at {set:?}")),
        }
    }
    Ok(())
}

/// A waker is another worker of the pool, or no worker at all. A wake-up comes after the worker has
/// begun to search, and before it is noticed. At most one in a hundred is unknown: a worker may
/// find itself awake before its waker has unparked it.
fn check_wakers(workers: &[OfWorker]) -> Result<(), String> {
    let numbers: Vec<_> = workers.iter().map(|worker| worker.number).collect();
    let (mut known, mut unknown) = (0, 0);
    for worker in workers {
        let mut idle = Duration::ZERO;
        for it in &worker.events {
            match it.event {
                Event::Idle => idle = it.time,
                Event::Wake(by) if by.at == 0 => unknown += 1,
                Event::Wake(by) => {
                    let is_other =
                        by.waker == 0 || by.waker != worker.number && numbers.contains(&by.waker);
                    let at = Duration::from_nanos(by.at);
                    if !is_other || at + CLOCKS_DIFFER_BY < idle || at > it.time {
                        return Err(format!("{it:?}, which is idle since {idle:?}"));
                    }
                    known += 1;
                }
                _ => {}
            }
        }
    }
    match unknown > 1 + known / 100 {
        true => Err(format!(
            "{unknown} wakers are unknown, and {known} are known"
        )),
        false => Ok(()),
    }
}

/// What was kept is what was counted.
fn check_sums(workers: &[OfWorker], counts: Counts) -> Result<(), String> {
    let mut kept = Counts::default();
    for it in events(workers) {
        match it.event {
            Event::Job(_) => kept.jobs_run += 1,
            Event::Post { count } => kept.jobs_posted += count as u64,
            Event::DequeFull => kept.deque_full += 1,
            Event::Steal { .. } => kept.steals_succeeded += 1,
            Event::Sleep => kept.sleeps += 1,
            Event::Wake(_) => kept.wakes += 1,
            Event::FruitlessWake => kept.fruitless_wakes += 1,
            Event::Revocation { .. } => kept.revocations += 1,
            _ => {}
        }
    }
    // These are counted and not kept.
    kept.steals_tried = counts.steals_tried;
    kept.steals_retried = counts.steals_retried;
    kept.searches = counts.searches;
    if kept == counts {
        Ok(())
    } else {
        Err(format!("kept {kept:?}, counted {counts:?}"))
    }
}

/// No more jobs were stolen from a deque than were posted on it. Those of joins are not posted.
fn check_steals(workers: &[OfWorker]) -> Result<(), String> {
    let mut balance: HashMap<usize, i64> = HashMap::new();
    for worker in workers {
        let thief = worker.index;
        let mut victim = None;
        for it in &worker.events {
            match it.event {
                Event::Post { count } => *balance.entry(thief).or_default() += count as i64,
                Event::Steal { victim: from } => {
                    if from == thief || from >= workers.len() {
                        return Err(format!("worker {thief} steals from {from}"));
                    }
                    victim = Some(from);
                }
                Event::Moved { count } => {
                    let from = victim.ok_or("jobs were moved without a steal")?;
                    *balance.entry(from).or_default() -= count as i64;
                    *balance.entry(thief).or_default() += count as i64;
                }
                // What follows a steal is the job that was stolen.
                Event::Job(name) => {
                    let is_join = name.get().is_some_and(|name| name.contains("JoinJob"));
                    if let Some(from) = victim.take().filter(|_| !is_join) {
                        *balance.entry(from).or_default() -= 1;
                    }
                }
                _ => {}
            }
        }
    }
    match balance.iter().find(|&(_, &left)| left < 0) {
        None => Ok(()),
        Some((worker, left)) => Err(format!("worker {worker} was left {left} jobs")),
    }
}
