//! Whether an answer of an earlier revision is still right.

use std::collections::HashSet;

use crate::{
    context::Caller,
    evaluate::{Current, Evaluation},
    inputs::Revision,
    reads::{Read, Reads},
    rules::Rules,
    table::Memo,
    waits::Outcome,
};

impl<R: Rules> Evaluation<'_, R> {
    /// Returns the earlier answer of a query in progress, if it is still right, and wakes the
    /// workers that wait for it.
    pub(super) fn validate(&self, key: &R::Key, caller: &Caller<R>) -> Option<Current<R>> {
        let memo = self.memo(key)?;
        let is_right = match memo.answer {
            // Another worker was first.
            _ if memo.verified == self.revision() => true,
            Ok(_) => self.are_unchanged(&memo.reads, memo.verified, caller),
            Err(_) => self.needs_only_unchanged_inputs(key, memo.verified),
        };
        if is_right { self.confirm(key) } else { None }
    }

    fn memo(&self, key: &R::Key) -> Option<Memo<R>> {
        self.shared.table.lock(key).get(key)?.memo.clone()
    }

    /// Whether all reads return what they returned at an earlier revision. Brings the queries among
    /// them up to date, up to the first that has changed.
    fn are_unchanged(&self, reads: &Reads<R>, since: Revision, caller: &Caller<R>) -> bool {
        reads.iter().all(|read| match read {
            Read::Input(key) => !self.inputs.changed_since(key, since),
            Read::Query(key) => self.current(key, caller).changed <= since,
            Read::Fork(sides) => {
                let [left, right] = &**sides;
                let is_unchanged = |reads| self.are_unchanged(reads, since, caller);
                let (left, right) =
                    self.join(caller, || is_unchanged(left), || is_unchanged(right));
                left && right
            }
        })
    }

    /// Whether no input has changed that a query needs, directly or through other queries.
    ///
    /// This is how errors are validated: their reads go round in a cycle, so that each would have
    /// to be valid before the others. If no input has changed, all queries on the way would be
    /// computed as they were. Errors in between are looked through even if they are the same as
    /// before: one that is on a second cycle may be, though the first cycle is no more. So an error
    /// may be computed again in vain.
    fn needs_only_unchanged_inputs(&self, key: &R::Key, since: Revision) -> bool {
        let mut seen = HashSet::from([key.clone()]);
        let mut pending = vec![key.clone()];
        while let Some(key) = pending.pop() {
            let Some(memo) = self.memo(&key) else {
                return false;
            };
            if memo.changed > since {
                return false;
            }
            if memo.verified == self.revision() && memo.answer.is_ok() {
                continue;
            }
            let mut reads = vec![&*memo.reads];
            while let Some(some) = reads.pop() {
                for read in some.iter() {
                    match read {
                        Read::Input(key) if self.inputs.changed_since(key, since) => return false,
                        Read::Input(_) => {}
                        Read::Query(key) => {
                            if seen.insert(key.clone()) {
                                pending.push(key.clone());
                            }
                        }
                        Read::Fork(sides) => reads.extend(sides.iter()),
                    }
                }
            }
        }
        true
    }

    /// Notes that the memo of a query in progress is right. Returns None if the query was found to
    /// be on a cycle in the meantime.
    fn confirm(&self, key: &R::Key) -> Option<Current<R>> {
        let revision = self.revision();
        let mut shard = self.shared.table.lock(key);
        let entry = shard.get_mut(key)?;
        let was_verified = entry.memo_at(revision).is_some();
        let on_cycle = entry
            .running
            .as_ref()
            .is_some_and(|running| running.cycle.is_some());
        let memo = entry.memo.as_mut()?;
        if on_cycle && !was_verified {
            return None;
        }
        memo.verified = revision;
        let current = Current {
            answer: memo.answer.clone(),
            changed: memo.changed,
        };
        if was_verified {
            return Some(current);
        }
        let running = entry.running.take();
        drop(shard);
        self.shared.counters.reused.add(1);
        if running.is_some_and(|running| running.awaited) {
            self.shared.waits.end_all(key, || Outcome::Answered);
        }
        Some(current)
    }
}
