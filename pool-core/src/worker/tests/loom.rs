//! A whole pool with its one worker, or two, and a caller outside. Ending the pool is part of each
//! model; whoever is not woken in time is a deadlock, which loom reports.

use ::loom::model::Builder;

use super::super::*;
use crate::testing::{Test, with_pool};

fn model(preemptions: usize, body: impl Fn() + Sync + Send + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 10_000;
    builder.check(body);
}

/// The whole life of a job from outside, and of a sleep.
#[test]
fn a_call_from_outside() {
    model(2, || {
        let answer = with_pool(1, |registry| {
            registry.in_worker(|_, migrated| (7, migrated))
        });
        assert_eq!(answer, (7, true));
    });
}

/// A join whose second half may be stolen, or taken back, or waited for.
#[test]
fn a_join_with_a_thief() {
    model(1, || {
        let answer = with_pool(2, |registry| {
            registry.in_worker(|worker: &WorkerThread<Test>, _| {
                worker.join_context(|_| 1, |_| 2, false)
            })
        });
        assert_eq!(answer, (1, 2));
    });
}
