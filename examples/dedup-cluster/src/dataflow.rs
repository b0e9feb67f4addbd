//! The dataflow: hash, exchange by digest, group, gather.
//!
//! ```text
//!  tasks --by process--> hash --by digest--> group --to the first process--> gather
//! ```
//!
//! The thread of the timely worker runs all operators. Only `hash` takes long: it hands a whole
//! batch of files to the pool and blocks until the pool has hashed them.

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

/// Runs the dataflow to its end, with the tasks of this process and the files that are known to be
/// unreadable.
///
/// Returns what all processes have found in the first process, and nothing in the others.
///
/// # Errors
/// If the list of digests cannot be written. The dataflow is incomplete then, in all processes.
pub(crate) fn run(
    worker: &mut Worker,
    tasks: Vec<Task>,
    unreadable: Vec<Hashed>,
    hasher: Hasher,
) -> Result<Vec<Found>, ClusterError> {
    let hasher = Rc::new(RefCell::new(hasher));
    let gathered = Rc::new(RefCell::new(Vec::new()));
    // Each process has one timely worker.
    let processes = worker.peers() as u64;
    let unreadable: Vec<_> = Batch::divide(unreadable, processes).collect();
    worker.dataflow::<u64, _, _>(|scope| {
        let tasks = tasks.to_stream(scope);
        let unreadable = unreadable.to_stream(scope);
        let hashed = hash::operator(tasks, processes, &hasher).concat(unreadable);
        let found = group(hashed, &hasher);
        gather(found, &gathered);
    });
    // Liveness: a worker with nothing to do parks until one of timely's threads has received
    // something. When a peer ends, the thread of its connection panics, and the panic hook ends
    // this process.
    while worker.has_dataflows() {
        worker.step_or_park(None);
        hasher.borrow_mut().take_failure()?;
    }
    Ok(gathered.take())
}

/// Adds the operator that groups equal digests. It sends the groups when all files are hashed, and
/// then what this process did.
fn group<'scope>(
    hashed: StreamVec<'scope, u64, Batch>,
    hasher: &Rc<RefCell<Hasher>>,
) -> StreamVec<'scope, u64, Found> {
    let hasher = Rc::clone(hasher);
    let by_process = Exchange::new(|batch: &Batch| batch.process);
    hashed.unary_frontier(by_process, "group", move |capability, _| {
        let mut groups = Groups::default();
        // Held so that the first process waits for what this one will send, also if it sends no
        // group.
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

/// Where a file is.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct FileIndex {
    /// The number of its batch, of those that have come.
    batch: u32,
    /// Its number in the batch.
    file: u32,
}

/// The first file with a digest.
struct First {
    file: FileIndex,
    /// Its [hash](Digest::hash), so that a table that grows reads no batch.
    hash: u32,
}

impl First {
    /// Returns a hash of full width. A table uses the lowest bits, and the highest seven.
    fn full_hash(hash: u32) -> u64 {
        u64::from(hash) << 32 | u64::from(hash)
    }
}

/// The batches that have come.
#[derive(Default)]
struct Batches(Vec<Batch>);

impl Batches {
    /// Adds a batch, and returns where its files are.
    fn push(&mut self, batch: Batch) -> impl Iterator<Item = FileIndex> + use<> {
        let count = u32::try_from(batch.digests.len()).expect("memory for that number of files");
        let number = u32::try_from(self.0.len()).expect("memory for that number of batches");
        self.0.push(batch);
        (0..count).map(move |file| FileIndex {
            batch: number,
            file,
        })
    }

    fn digest(&self, at: FileIndex) -> Digest {
        self.0[at.batch as usize].digests[at.file as usize]
    }

    fn size(&self, at: FileIndex) -> u64 {
        self.0[at.batch as usize].sizes[at.file as usize]
    }

    fn name(&self, at: FileIndex) -> &str {
        self.0[at.batch as usize].names.get(at.file as usize)
    }
}

/// The files of this process's digests.
///
/// Most digests have one file. Such a file stays in its batch, and costs one entry of a table.
#[derive(Default)]
struct Groups {
    batches: Batches,
    firsts: HashTable<First>,
    /// The other files with the digest of a first one.
    others: HashMap<FileIndex, Vec<FileIndex>>,
    unreadable: Vec<Found>,
}

impl Groups {
    /// Adds files to their groups.
    fn add(&mut self, mut batch: Batch) {
        let unreadable = batch.unreadable.drain(..);
        self.unreadable
            .extend(unreadable.map(|(name, reason)| Found::Unreadable { name, reason }));
        for this in self.batches.push(batch) {
            let digest = self.batches.digest(this);
            let hash = digest.hash();
            let entry = self.firsts.entry(
                First::full_hash(hash),
                |other| other.hash == hash && self.batches.digest(other.file) == digest,
                |other| First::full_hash(other.hash),
            );
            match entry {
                Entry::Vacant(entry) => _ = entry.insert(First { file: this, hash }),
                Entry::Occupied(first) => {
                    let others = self.others.entry(first.get().file).or_default();
                    others.push(this);
                }
            }
        }
    }

    /// Takes the groups with more than one file, and the unreadable files.
    fn take_found(&mut self) -> impl Iterator<Item = Found> {
        let Self {
            batches,
            others,
            unreadable,
            ..
        } = std::mem::take(self);
        let groups = others.into_iter().map(move |(first, others)| {
            let files = others.into_iter().chain([first]);
            Found::Group {
                digest: batches.digest(first).bytes(),
                size: batches.size(first),
                names: files.map(|file| batches.name(file).to_owned()).collect(),
            }
        });
        unreadable.into_iter().chain(groups)
    }
}

#[cfg(test)]
mod tests;
