//! What a trace of a worker shows of its steps.

use std::{collections::BTreeSet, hash::Hash};

use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;

use super::{
    Kind, Pool, Scenario,
    classic::Classic,
    hints::Hints,
    jec::Jec,
    protocol::Protocol,
    sockets::Sockets,
    worker::{Seated, Slept, Worker},
    world::Seat,
};
use crate::model::{Failure, visit_steps};

/// All that traces of a worker show, as the edges of a graph: from where the worker is, what its
/// trace shows, and where the worker is then. A worker begins at 0, and has just entered its pool.
///
/// The graph knows one worker alone: it has each step that the worker makes in some execution, and
/// joins them in all ways. So it allows what no execution shows, and misses nothing.
pub type Shown = BTreeSet<(usize, Vec<&'static str>, usize)>;

/// Returns what the workers of a pool show in all executions.
///
/// # Errors
/// What fails.
pub fn shown(kind: Kind, scenario: Scenario) -> Result<Shown, Failure> {
    let workers = scenario.workers;
    match kind {
        Kind::Jec => shown_by(&Pool::new(Jec::of(0..workers), scenario, &[])),
        Kind::Sockets => shown_by(&Pool::new(Sockets::of(workers, 1), scenario, &[])),
        Kind::OneSocket => shown_by(&Pool::new(Sockets::of(workers, workers), scenario, &[])),
        Kind::Classic => shown_by(&Pool::new(Classic, scenario, &[])),
        Kind::Hints => shown_by(&Pool::new(Hints, scenario, &[])),
    }
}

type Places<T> = IndexSet<T, FxBuildHasher>;
/// Where a worker is before a step, and after it.
type Steps<I, C> = Places<[Seated<I, C>; 2]>;

fn shown_by<P: Protocol>(pool: &Pool<P>) -> Result<Shown, Failure> {
    let seat = Seat::Host;
    let workers = 0..pool.scenario.workers;
    let begins = workers.map(|index| Seated {
        worker: Worker::new(index),
        seat,
    });
    let mut steps = Steps::default();
    visit_steps(pool, |before, after| {
        for index in 0..before.workers.len() {
            let seated = |state: &super::StateOf<P>| Seated {
                worker: state.workers[index],
                seat: state.world.places()[index].seat,
            };
            let step = [before, after].map(seated);
            if step[0] != step[1] {
                steps.insert(step);
            }
        }
    })?;
    Ok(join_steps(begins, &steps))
}

/// Goes along all steps, and remembers whether the worker has slept.
fn join_steps<I, C>(begins: impl Iterator<Item = Seated<I, C>>, steps: &Steps<I, C>) -> Shown
where
    I: Copy + PartialEq + Default + Eq + Hash,
    C: Copy + PartialEq + Eq + Hash,
{
    let mut shown = Shown::new();
    // All workers begin in one place.
    let mut places: Places<_> = [None].into_iter().collect();
    for begin in begins {
        let (to, _) = places.insert_full(Some((begin, Slept::Not)));
        shown.insert((0, Vec::new(), to));
    }
    let mut next = 1;
    while let Some(&Some((before, slept))) = places.get_index(next) {
        for &[_, after] in steps.iter().filter(|[from, _]| *from == before) {
            let mut slept = slept;
            let events = match before.worker == after.worker {
                true => seat_changes(before.seat, after.seat),
                false => Worker::shown(&before, &after, &mut slept),
            };
            let (to, _) = places.insert_full(Some((after, slept)));
            shown.insert((next, events, to));
        }
        next += 1;
    }
    shown
}

/// Returns what a guest leaves in the trace of the worker whose seat it takes.
fn seat_changes(before: Seat, after: Seat) -> Vec<&'static str> {
    match (before, after) {
        (Seat::Vacant, Seat::Guest) => vec!["guest-arrived"],
        (Seat::Guest, Seat::Vacant) => vec!["guest-left"],
        _ => Vec::new(),
    }
}
