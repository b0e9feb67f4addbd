//! Workers that wait for a query that another one computes, and what they wait in vain for.

mod deadlock;
mod latch;

use std::sync::{Arc, Mutex, MutexGuard};

use crate::{
    blocking::{self, Blocked, MarkError},
    cycle::CycleError,
    job::Job,
};
pub(crate) use deadlock::Deadlock;
use deadlock::{Need, find_deadlock};
pub(crate) use latch::Latch;

/// How a wait ended.
#[derive(Debug)]
pub(crate) enum Outcome<K> {
    /// The query is answered; the answer is in the table.
    Answered,
    /// The computation panicked.
    Panicked,
    /// The wait closed a cycle.
    Cyclic(CycleError<K>),
    /// No cycle, but the computation cannot go on: compute the query here.
    Stuck,
}

/// The waits in progress, at most one per worker.
///
/// A wait is taken out of the list by the thread that ends it, so it ends once.
pub(crate) struct Waits<K>(Mutex<Vec<Wait<K>>>);

/// A worker that waits for a query.
struct Wait<K> {
    need: Need<K>,
    latch: Arc<Latch<Outcome<K>>>,
    mark: Blocked,
}

impl<K> Waits<K> {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Wait<K>>> {
        self.0.lock().expect("no panic with a lock on the waits")
    }
}

impl<K: Ord + Clone> Waits<K> {
    /// Marks this worker as blocked and notes its wait. Then [`Latch::wait`] waits for the outcome.
    ///
    /// The caller holds the lock on the query's entry, which says that the query is in progress. So
    /// the thread that answers it finds the wait, with its mark.
    ///
    /// # Errors
    /// If the thread cannot be marked. Then it must not wait either: no deadlock would be reported.
    pub(crate) fn begin(
        &self,
        awaited: &K,
        needed_by: Option<&Arc<Job<K>>>,
        label: String,
    ) -> Result<Arc<Latch<Outcome<K>>>, MarkError> {
        let mut waits = self.lock();
        // Under the lock: a thread that ends the wait needs the mark. If this is the last active
        // worker, the pool reports here, and the report is handled once the lock is free.
        let mark = blocking::mark_blocked(label)?;
        let latch = Arc::new(Latch::new());
        waits.push(Wait {
            need: Need {
                awaited: awaited.clone(),
                needed_by: needed_by.cloned(),
            },
            latch: latch.clone(),
            mark,
        });
        Ok(latch)
    }

    /// Ends all waits for a query.
    pub(crate) fn end_all(&self, awaited: &K, outcome: impl Fn() -> Outcome<K>) {
        let ended: Vec<_> = self
            .lock()
            .extract_if(.., |wait| wait.need.awaited == *awaited)
            .collect();
        blocking::unmark(ended.iter().map(|wait| wait.mark.clone()));
        for wait in ended {
            wait.latch.set(outcome());
        }
    }

    /// Ends one wait, after a deadlock was reported, and calls `before` with what was found before
    /// the worker goes on. Does nothing if there is no wait.
    pub(crate) fn end_one(&self, before: impl FnOnce(&Deadlock<K>)) {
        let mut waits = self.lock();
        let needs: Vec<_> = waits.iter().map(|wait| &wait.need).collect();
        let Some((index, deadlock)) = find_deadlock(&needs) else {
            return;
        };
        let wait = waits.remove(index);
        drop(waits);
        before(&deadlock);
        blocking::unmark([wait.mark]);
        wait.latch.set(match deadlock {
            Deadlock::Cycle(error) => Outcome::Cyclic(error),
            Deadlock::FalseDependency => Outcome::Stuck,
        });
    }
}
