//! The dataflow: hash, exchange by digest, group, gather.
//!
//! ```text
//!  tasks --by process--> hash --by digest--> group --to the first process--> gather
//! ```
//!
//! The thread of the timely worker runs all operators. Only `hash` takes long: it hands a whole batch of files
//! to the pool and blocks until the pool has hashed them.

mod hash;

use std::{
    cell::RefCell,
    collections::{HashMap, hash_map::Entry},
    rc::Rc,
};

use timely::{
    dataflow::{
        StreamVec,
        channels::pact::Exchange,
        operators::{Concat, Operator, vec::ToStream},
    },
    worker::Worker,
};

pub(crate) use hash::{Hasher, Progress};

use crate::{
    ClusterError,
    records::{DigestBytes, Found, Hashed, Task},
};

/// Runs the dataflow to its end, with the files of this process and those that are known to be unreadable. In the first process, returns what all processes have found.
///
/// # Errors
/// If the list of digests cannot be written. The dataflow is not at its end then, nor is that of the others.
pub(crate) fn run(
    worker: &mut Worker,
    tasks: Vec<Task>,
    unreadable: Vec<Hashed>,
    hasher: Hasher,
) -> Result<Vec<Found>, ClusterError> {
    let hasher = Rc::new(RefCell::new(hasher));
    let gathered = Rc::new(RefCell::new(Vec::new()));
    worker.dataflow::<u64, _, _>(|scope| {
        let tasks = tasks.to_stream(scope);
        let unreadable = unreadable.to_stream(scope);
        let hashed = hash::operator(tasks, &hasher).concat(unreadable);
        let found = group(hashed, &hasher);
        gather(found, &gathered);
    });
    // Liveness: a worker with nothing to do sleeps until one of timely's threads has received something. That
    // of a process that ended panics, which ends this process.
    while worker.has_dataflows() {
        worker.step_or_park(None);
        hasher.borrow_mut().take_failure()?;
    }
    Ok(gathered.take())
}

/// Adds the operator that groups equal digests. It sends the groups when all files are hashed, and then what
/// this process did.
fn group<'scope>(
    hashed: StreamVec<'scope, u64, Hashed>,
    hasher: &Rc<RefCell<Hasher>>,
) -> StreamVec<'scope, u64, Found> {
    let hasher = Rc::clone(hasher);
    let by_digest = Exchange::new(Hashed::key);
    hashed.unary_frontier(by_digest, "group", move |capability, _| {
        let mut groups = Groups::default();
        // Held so that the first process waits for what this one will send, also if it sends no group.
        let mut capability = Some(capability);
        move |(input, frontier), output| {
            input.for_each(|_, batch| {
                let digests = groups.add(batch.drain(..));
                hasher.borrow_mut().grouped += digests;
            });
            if frontier.is_empty()
                && let Some(capability) = capability.take()
            {
                let statistics = hasher.borrow().statistics();
                let mut session = output.session(&capability);
                session.give_iterator(groups.take_found());
                session.give(Found::Statistics(statistics));
            }
        }
    })
}

/// Adds the operator that keeps everything in the first process.
fn gather(found: StreamVec<'_, u64, Found>, gathered: &Rc<RefCell<Vec<Found>>>) {
    let gathered = Rc::clone(gathered);
    let to_first = Exchange::new(|_: &Found| 0);
    found.sink(to_first, "gather", move |(input, _)| {
        input.for_each(|_, batch| gathered.borrow_mut().append(batch));
    });
}

/// The files with a digest. They have the same size.
struct Group {
    size: u64,
    first: String,
    /// Most digests have no others, and need no memory for them.
    others: Vec<String>,
}

impl Group {
    /// Creates the group of one file.
    fn new(size: u64, first: String) -> Self {
        Self {
            size,
            first,
            others: Vec::new(),
        }
    }
}

/// The files of this process's digests.
#[derive(Default)]
struct Groups {
    by_digest: HashMap<DigestBytes, Group>,
    unreadable: Vec<Found>,
}

impl Groups {
    /// Adds files to their groups. Returns how many digests there were.
    fn add(&mut self, batch: impl Iterator<Item = Hashed>) -> u64 {
        let mut digests = 0;
        for Hashed { name, size, result } in batch {
            match result {
                Ok(digest) => {
                    digests += 1;
                    match self.by_digest.entry(digest) {
                        Entry::Occupied(group) => group.into_mut().others.push(name),
                        Entry::Vacant(place) => _ = place.insert(Group::new(size, name)),
                    }
                }
                Err(reason) => self.unreadable.push(Found::Unreadable { name, reason }),
            }
        }
        digests
    }

    fn take_found(&mut self) -> impl Iterator<Item = Found> {
        let groups = std::mem::take(&mut self.by_digest).into_iter();
        let groups = groups.filter(|(_, group)| !group.others.is_empty());
        let groups = groups.map(|(digest, mut group)| {
            group.others.push(group.first);
            Found::Group {
                digest,
                size: group.size,
                names: group.others,
            }
        });
        std::mem::take(&mut self.unreadable)
            .into_iter()
            .chain(groups)
    }
}

#[cfg(test)]
mod tests;
