//! Why waits do not end: a cycle among the queries, or a false dependency.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    cycle::{Cycle, CycleError},
    job::Job,
};

/// What a worker waits for, and on whose account.
#[derive(Debug)]
pub(crate) struct Need<K> {
    /// The query that the worker waits for.
    pub(super) awaited: K,
    /// The query that needs it. None if the user of the engine does.
    pub(super) needed_by: Option<Arc<Job<K>>>,
}

/// What keeps waits from ending.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Deadlock<K> {
    /// Queries need each other.
    Cycle(CycleError<K>),
    /// No queries do; see [the crate's page](crate#waits-that-cannot-end).
    FalseDependency,
}

impl<K: Eq> Need<K> {
    /// Whether a query is held up by this need: it needs, through others, the query that waits.
    fn holds_up(&self, key: &K) -> bool {
        let mut held_up = self.needed_by.iter().flat_map(|job| job.ancestry());
        held_up.any(|above| above == key)
    }
}

/// Finds what keeps the waits from ending, and which of them to end. None if there is no wait.
///
/// Follows the waits: from each to those that hold up its query. If that comes back to a wait,
/// there is a cycle. If it never does, some wait's query is not held up by any wait: it is stuck
/// below on a stack. That wait is the one to end, because its query needs no other one that is
/// stuck.
pub(super) fn find_deadlock<K: Ord + Clone>(waits: &[&Need<K>]) -> Option<(usize, Deadlock<K>)> {
    let mut search = Search {
        waits,
        followed: Vec::new(),
        is_done: vec![false; waits.len()],
        stuck: None,
    };
    if let Some(round) = (0..waits.len()).find_map(|wait| search.follow(wait)) {
        return Some(cycle_of(waits, &round));
    }
    Some((search.stuck?, Deadlock::FalseDependency))
}

/// A search through the waits, depth first.
struct Search<'a, K> {
    waits: &'a [&'a Need<K>],
    /// The waits from the start to the current one.
    followed: Vec<usize>,
    /// The waits that lead to no cycle.
    is_done: Vec<bool>,
    /// The first wait found whose query no wait holds up.
    stuck: Option<usize>,
}

impl<K: Eq> Search<'_, K> {
    /// Returns the cycle that a wait leads to. As deep as there are waits, which are at most as
    /// many as workers.
    fn follow(&mut self, wait: usize) -> Option<Vec<usize>> {
        if let Some(start) = self.followed.iter().position(|&earlier| earlier == wait) {
            return Some(self.followed[start..].to_vec());
        }
        if self.is_done[wait] {
            return None;
        }
        self.followed.push(wait);
        let awaited = &self.waits[wait].awaited;
        let mut is_held_up = false;
        for next in 0..self.waits.len() {
            if self.waits[next].holds_up(awaited) {
                is_held_up = true;
                if let Some(round) = self.follow(next) {
                    return Some(round);
                }
            }
        }
        if !is_held_up {
            self.stuck.get_or_insert(wait);
        }
        self.followed.pop();
        self.is_done[wait] = true;
        None
    }
}

/// Returns the cycle of waits of which each one's query is held up by the next one, and the index
/// of one of the waits that are on it.
fn cycle_of<K: Ord + Clone>(waits: &[&Need<K>], round: &[usize]) -> (usize, Deadlock<K>) {
    // The queries from each awaited one down to the one that waits next. Together they are a closed
    // walk, which may pass a query several times.
    let mut walk: Vec<(K, Option<usize>)> = Vec::new();
    for (&wait, &next) in round.iter().zip(round.iter().cycle().skip(1)) {
        let job = waits[next].needed_by.as_ref();
        let path = job.and_then(|job| job.path_from(&waits[wait].awaited));
        let path = path.expect("the next wait holds up the query");
        walk.extend(path.into_iter().map(|key| (key, None)));
        walk.last_mut().expect("the query itself").1 = Some(next);
    }
    // The part between two passes of the same query is a cycle too; the shortest has no such part.
    while let Some((first, second)) = repeated(&walk) {
        walk.truncate(second);
        walk.drain(..first);
    }
    // Parents alone make no cycle, so at least one of its steps is a wait.
    let wait = walk.iter().find_map(|step| step.1);
    let path = walk.into_iter().map(|step| step.0).collect();
    let error = CycleError::new(Cycle::new(path));
    (wait.expect("a step that waits"), Deadlock::Cycle(error))
}

/// Returns the positions of two passes of the same query, with none passed twice between them.
fn repeated<K: Ord>(walk: &[(K, Option<usize>)]) -> Option<(usize, usize)> {
    let mut passed = BTreeMap::new();
    walk.iter().enumerate().find_map(|(position, (key, _))| {
        let earlier = passed.insert(key, position);
        earlier.map(|earlier| (earlier, position))
    })
}

#[cfg(test)]
mod tests;
