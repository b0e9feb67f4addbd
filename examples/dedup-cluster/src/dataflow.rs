//! The dataflow: hash, exchange by digest, group, gather.
//!
//! ```text
//!  tasks --by process--> hash --by digest--> group --to the first process--> gather
//! ```
//!
//! The thread of the timely worker runs all operators. Only `hash` takes long: it hands a whole batch of files
//! to the pool and blocks until the pool has hashed them.

mod hash;

use std::{cell::RefCell, collections::HashMap, rc::Rc};

use hashbrown::hash_table::{Entry, HashTable};

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
    records::{Batch, Digest, Found, Hashed, Task},
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
    let processes = worker.peers() as u64;
    let unreadable: Vec<_> = Batch::divide(unreadable, processes).collect();
    worker.dataflow::<u64, _, _>(|scope| {
        let tasks = tasks.to_stream(scope);
        let unreadable = unreadable.to_stream(scope);
        let hashed = hash::operator(tasks, processes, &hasher).concat(unreadable);
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
    hashed: StreamVec<'scope, u64, Batch>,
    hasher: &Rc<RefCell<Hasher>>,
) -> StreamVec<'scope, u64, Found> {
    let hasher = Rc::clone(hasher);
    let by_digest = Exchange::new(|batch: &Batch| batch.process);
    hashed.unary_frontier(by_digest, "group", move |capability, _| {
        let mut groups = Groups::default();
        // Held so that the first process waits for what this one will send, also if it sends no group.
        let mut capability = Some(capability);
        move |(input, frontier), output| {
            input.for_each(|_, batches| {
                for batch in batches.drain(..) {
                    hasher.borrow_mut().grouped += batch.digests.len() as u64;
                    groups.add(batch);
                }
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

/// Where a file is: in which batch, and where there.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Place {
    batch: u32,
    file: u32,
}

/// The files of this process's digests.
///
/// Most digests have one file. Such a file stays in the batch in which it has come, and costs a place in a table.
#[derive(Default)]
struct Groups {
    batches: Vec<Batch>,
    /// The first file with each digest.
    firsts: HashTable<Place>,
    /// The other files with the digest of a first one.
    others: HashMap<Place, Vec<Place>>,
    unreadable: Vec<Found>,
}

impl Groups {
    /// Adds files to their groups.
    fn add(&mut self, mut batch: Batch) {
        let unreadable = batch.unreadable.drain(..);
        self.unreadable
            .extend(unreadable.map(|(name, reason)| Found::Unreadable { name, reason }));
        let place = |batch: usize, file: usize| Place {
            batch: batch.try_into().expect("memory for so many batches"),
            file: file.try_into().expect("memory for so many files"),
        };
        let (last, count) = (self.batches.len(), batch.digests.len());
        self.batches.push(batch);
        let digest = |place: Place| digest(&self.batches, place);
        for this in (0..count).map(|file| place(last, file)) {
            let entry = self.firsts.entry(
                digest(this).hash(),
                |&other| digest(other) == digest(this),
                |&other| digest(other).hash(),
            );
            match entry {
                Entry::Vacant(entry) => _ = entry.insert(this),
                Entry::Occupied(first) => self.others.entry(*first.get()).or_default().push(this),
            }
        }
    }

    fn take_found(&mut self) -> impl Iterator<Item = Found> {
        let Self {
            batches,
            others,
            unreadable,
            ..
        } = std::mem::take(self);
        let groups = others.into_iter().map(move |(first, others)| {
            let batch = |place: Place| &batches[place.batch as usize];
            let name = |place: Place| batch(place).names.get(place.file as usize).to_owned();
            Found::Group {
                digest: digest(&batches, first).bytes(),
                size: batch(first).sizes[first.file as usize],
                names: others.into_iter().chain([first]).map(name).collect(),
            }
        });
        unreadable.into_iter().chain(groups)
    }
}

fn digest(batches: &[Batch], place: Place) -> Digest {
    batches[place.batch as usize].digests[place.file as usize]
}

#[cfg(test)]
mod tests;
