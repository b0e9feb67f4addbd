//! The table of queries: what is known of each, and which are being computed.

use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    sync::{Arc, Mutex, MutexGuard},
};

use crate::{
    cycle::CycleError,
    inputs::Revision,
    reads::Reads,
    rules::{Answer, Rules},
};

/// Locks, so that workers seldom meet at one: several times the processors of a large machine.
const SHARDS: usize = 256;

/// The queries, in several maps with a lock each.
///
/// No lock is held while a query is computed, or while two shards are locked.
pub(crate) struct Table<R: Rules> {
    shards: Box<[Mutex<Shard<R>>]>,
    hasher: RandomState,
}

type Shard<R> = HashMap<<R as Rules>::Key, Entry<R>>;

/// What is known of one query.
pub(crate) struct Entry<R: Rules> {
    /// The last answer, perhaps outdated.
    pub(crate) memo: Option<Memo<R>>,
    /// Set while the query is computed or its memo validated.
    pub(crate) running: Option<Running<R>>,
}

/// An answer that was right at a revision.
pub(crate) struct Memo<R: Rules> {
    pub(crate) answer: Answer<R>,
    pub(crate) reads: Arc<Reads<R>>,
    /// The revision at which the answer became what it is.
    pub(crate) changed: Revision,
    /// The last revision at which the answer was known to be right.
    pub(crate) verified: Revision,
}

/// A query in progress.
pub(crate) struct Running<R: Rules> {
    /// The worker that has the computation on its stack.
    pub(crate) worker: Option<usize>,
    /// The cycle that the query was found to be on. Its answer is then the error.
    pub(crate) cycle: Option<CycleError<R::Key>>,
    /// Whether a worker waits for the answer.
    pub(crate) awaited: bool,
}

impl<R: Rules> Table<R> {
    pub(crate) fn new() -> Self {
        Self {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            hasher: RandomState::new(),
        }
    }

    /// Locks the shard of a query.
    pub(crate) fn lock(&self, key: &R::Key) -> MutexGuard<'_, Shard<R>> {
        let shard = self.hasher.hash_one(key) as usize % SHARDS;
        self.shards[shard]
            .lock()
            .expect("no panic with a lock on the table")
    }

    /// Marks all queries of a cycle that are still in progress.
    pub(crate) fn mark_cycle(&self, error: &CycleError<R::Key>) {
        for key in error.cycle().path() {
            if let Some(entry) = self.lock(key).get_mut(key)
                && let Some(running) = &mut entry.running
            {
                running.cycle.get_or_insert_with(|| error.clone());
            }
        }
    }

    /// Forgets all queries.
    pub(crate) fn clear(&self) {
        for shard in &self.shards {
            let mut shard = shard.lock().expect("no panic with a lock on the table");
            shard.clear();
        }
    }

    /// Calls a closure with all memos.
    pub(crate) fn for_each_memo(&self, mut visit: impl FnMut(&R::Key, &Memo<R>)) {
        for shard in &self.shards {
            let shard = shard.lock().expect("no panic with a lock on the table");
            for (key, entry) in shard.iter() {
                if let Some(memo) = &entry.memo {
                    visit(key, memo);
                }
            }
        }
    }
}

impl<R: Rules> Default for Entry<R> {
    fn default() -> Self {
        Self {
            memo: None,
            running: None,
        }
    }
}

impl<R: Rules> Entry<R> {
    /// Returns the memo if it is known to be right at a revision.
    pub(crate) fn memo_at(&self, revision: Revision) -> Option<&Memo<R>> {
        self.memo.as_ref().filter(|memo| memo.verified == revision)
    }
}

impl<R: Rules> Clone for Memo<R> {
    fn clone(&self) -> Self {
        Self {
            answer: self.answer.clone(),
            reads: self.reads.clone(),
            changed: self.changed,
            verified: self.verified,
        }
    }
}
