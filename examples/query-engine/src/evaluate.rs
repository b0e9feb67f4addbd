//! Answering a query: from its memo, by validation, by computation, or by waiting.

mod validate;

use std::sync::Arc;

use pool_std::ThreadPool;

use crate::{
    context::{Caller, Context},
    cycle::{Cycle, CycleError},
    engine::Shared,
    inputs::{Inputs, Revision},
    job::Job,
    reads::Reads,
    rules::{Answer, Rules},
    table::{Memo, Running},
    waits::{Latch, Outcome},
};

/// The state of the engine during calls from outside, while the inputs stay as they are.
pub(crate) struct Evaluation<'e, R: Rules> {
    pub(crate) rules: &'e R,
    pub(crate) inputs: &'e Inputs<R>,
    pub(crate) shared: &'e Shared<R>,
    pub(crate) pool: &'e ThreadPool,
}

/// An answer that is right for the current inputs.
pub(crate) struct Current<R: Rules> {
    pub(crate) answer: Answer<R>,
    /// The revision at which the answer became what it is.
    pub(crate) changed: Revision,
}

/// What a look into the table says about a query that has no answer yet.
enum Next<R: Rules> {
    /// This worker has claimed it.
    Run,
    /// Another worker computes it, for which this thread must not wait.
    RunToo,
    /// The caller needs itself.
    Cycle(CycleError<R::Key>),
    /// Another worker computes it.
    Wait(Arc<Latch<Outcome<R::Key>>>),
}

impl<R: Rules> Evaluation<'_, R> {
    fn revision(&self) -> Revision {
        self.inputs.revision()
    }

    /// Brings a query up to date and returns its answer.
    ///
    /// # Panics
    /// If its computation panics, on this worker or another.
    pub(crate) fn current(&self, key: &R::Key, caller: &Caller<R>) -> Current<R> {
        loop {
            let next = match self.look_up(key, caller) {
                Ok(current) => return current,
                Err(next) => next,
            };
            match next {
                Next::Run => return self.run(key, caller, caller.alone),
                Next::RunToo => return self.run(key, caller, true),
                Next::Cycle(error) => {
                    self.shared.counters.met.add(1);
                    return self.cyclic(error);
                }
                Next::Wait(latch) => {
                    self.shared.counters.waited.add(1);
                    match latch.wait() {
                        Outcome::Answered => {}
                        Outcome::Panicked => panic!("the computation of {key:?} panicked"),
                        Outcome::Cyclic(error) => return self.cyclic(error),
                        Outcome::Stuck => return self.run(key, caller, true),
                    }
                }
            }
        }
    }

    /// Returns the answer if it is known, or else claims the query, or says what to do instead.
    fn look_up(&self, key: &R::Key, caller: &Caller<R>) -> Result<Current<R>, Next<R>> {
        let worker = self.pool.current_thread_index();
        let mut shard = self.shared.table.lock(key);
        let entry = shard.entry(key.clone()).or_default();
        if let Some(memo) = entry.memo_at(self.revision()) {
            return Ok(Current {
                answer: memo.answer.clone(),
                changed: memo.changed,
            });
        }
        let Some(running) = &mut entry.running else {
            entry.running = Some(Running {
                worker,
                cycle: None,
                awaited: false,
            });
            return Err(Next::Run);
        };
        if let Some(path) = caller.job.as_ref().and_then(|job| job.path_from(key)) {
            let error = CycleError::new(Cycle::new(path));
            drop(shard);
            self.shared.table.mark_cycle(&error);
            return Err(Next::Cycle(error));
        }
        // On a thread outside the pool, the pool would not report a deadlock. And if this worker
        // computes the query, below on its stack, then that goes on only when we have returned.
        if worker.is_none() || running.worker == worker {
            return Err(Next::RunToo);
        }
        let label = self.rules.describe(key);
        match self.shared.waits.begin(key, caller.job.as_ref(), label) {
            Ok(latch) => {
                running.awaited = true;
                Err(Next::Wait(latch))
            }
            // The user of the engine has marked the worker already.
            Err(_) => Err(Next::RunToo),
        }
    }

    /// Calls two closures, in parallel unless the caller's computation is to stay on this thread.
    pub(crate) fn join<A, B>(
        &self,
        caller: &Caller<R>,
        a: impl FnOnce() -> A + Send,
        b: impl FnOnce() -> B + Send,
    ) -> (A, B)
    where
        A: Send,
        B: Send,
    {
        // Another pool's workers would wait for queries too, without reports of deadlocks.
        if caller.alone || self.pool.current_thread_index().is_none() {
            (a(), b())
        } else {
            pool_std::join(a, b)
        }
    }

    fn cyclic(&self, error: CycleError<R::Key>) -> Current<R> {
        Current {
            answer: Err(error),
            changed: self.revision(),
        }
    }

    /// Validates the memo of a query, if there is one, or else computes the query.
    fn run(&self, key: &R::Key, caller: &Caller<R>, alone: bool) -> Current<R> {
        let abandon = Abandon {
            shared: self.shared,
            key,
        };
        let caller = Caller {
            job: Some(Job::new(key.clone(), caller.job.clone())),
            alone,
        };
        let current = match self.validate(key, &caller) {
            Some(current) => current,
            None => {
                let mut context = Context::new(*self, caller);
                let answer = self.rules.compute(key, &mut context);
                self.publish(key, answer, context.into_reads())
            }
        };
        std::mem::forget(abandon);
        current
    }

    /// Stores a computed answer, unless another worker that computed the same query was first, and
    /// wakes the workers that wait for it. Returns what is stored.
    fn publish(&self, key: &R::Key, answer: Answer<R>, reads: Reads<R>) -> Current<R> {
        let revision = self.revision();
        let counters = &self.shared.counters;
        let mut shard = self.shared.table.lock(key);
        let entry = shard.get_mut(key).expect("claimed before");
        if let Some(memo) = entry.memo_at(revision) {
            counters.duplicated.add(1);
            return Current {
                answer: memo.answer.clone(),
                changed: memo.changed,
            };
        }
        // None if a computation of the same query panicked.
        let running = entry.running.take();
        let cycle = running.as_ref().and_then(|running| running.cycle.clone());
        let answer = cycle.map_or(answer, Err);
        let earlier = entry.memo.as_ref().filter(|memo| memo.answer == answer);
        let changed = earlier.map_or(revision, |memo| memo.changed);
        counters.computed.add(1);
        counters.unchanged.add(u64::from(changed < revision));
        entry.memo = Some(Memo {
            answer: answer.clone(),
            reads: Arc::new(reads),
            changed,
            verified: revision,
        });
        drop(shard);
        if running.is_some_and(|running| running.awaited) {
            self.shared.waits.end_all(key, || Outcome::Answered);
        }
        Current { answer, changed }
    }
}

/// Gives a query up if its computation panics: a later call computes it anew.
struct Abandon<'a, R: Rules> {
    shared: &'a Shared<R>,
    key: &'a R::Key,
}

impl<R: Rules> Drop for Abandon<'_, R> {
    fn drop(&mut self) {
        if let Some(entry) = self.shared.table.lock(self.key).get_mut(self.key) {
            entry.running = None;
        }
        self.shared.waits.end_all(self.key, || Outcome::Panicked);
    }
}

impl<R: Rules> Clone for Evaluation<'_, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R: Rules> Copy for Evaluation<'_, R> {}
