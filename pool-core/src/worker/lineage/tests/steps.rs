//! Lineages step by step, on one thread.

use super::super::*;
use crate::{
    job::StackJob,
    latch::BlockingLatch,
    testing::{Test, registry, workers},
};

/// Steps through the lineages of three workers on one thread.
#[test]
fn jobs_that_a_thief_pushes_descend_from_what_it_has_stolen() {
    let registry = registry::<Test>(3);
    let [waiter, thief, second]: [WorkerThread<Test>; 3] = workers(&registry);
    let jobs: [_; 6] =
        core::array::from_fn(|_| StackJob::new(|_| (), BlockingLatch::<Test>::new()));
    let push = |worker: &WorkerThread<Test>, number: usize| {
        let position = worker.own().next_position();
        // SAFETY: 1. they stay longer than they are used; 2. none is run.
        let job = unsafe { jobs[number].as_job_ref() };
        worker.own().try_push(job).unwrap();
        position
    };
    let steal = |thief: &WorkerThread<Test>, victim: usize| {
        let mut theft = None;
        let taken = thief.steal_if(victim, |position| {
            theft = Some(Theft { victim, position });
            true
        });
        assert!(taken.is_success());
        theft.unwrap()
    };
    let on_thief = |position| Theft {
        victim: 1,
        position,
    };

    let old = push(&thief, 0);
    push(&waiter, 1);
    let from = push(&waiter, 2);
    let [outer, stolen] = [steal(&thief, 0), steal(&thief, 0)];
    assert_eq!(stolen.position, from);
    assert!(waiter.is_descendant(stolen, from) && !waiter.is_descendant(outer, from));

    thief.with_lineage(Some(stolen), Isolation::Subtree, || {
        assert!(!waiter.is_descendant(on_thief(old), from), "it was there");
        let first = push(&thief, 3);
        assert!(waiter.is_descendant(on_thief(first), from));
        assert_eq!(steal(&second, 1), on_thief(old));
        let stolen_again = steal(&second, 1);
        assert_eq!(stolen_again, on_thief(first));
        second.with_lineage(Some(stolen_again), Isolation::Subtree, || {
            let position = push(&second, 4);
            let job = Theft {
                victim: 2,
                position,
            };
            assert!(waiter.is_descendant(job, from));
            assert!(!waiter.is_descendant(job, waiter.own().next_position()));
            thief.with_lineage(Some(outer), Isolation::Subtree, || {
                assert!(!waiter.is_descendant(job, from), "below a foreign job");
            });
            assert!(waiter.is_descendant(job, from));
            // A foreign job leaves a job behind. From then on, no older job is known to descend.
            thief.with_lineage(Some(outer), Isolation::Subtree, || _ = push(&thief, 5));
            assert!(!waiter.is_descendant(job, from));
            let next = thief.own().next_position();
            assert!(waiter.is_descendant(on_thief(next), from));
        });
    });
    let next = thief.own().next_position();
    assert!(!waiter.is_descendant(on_thief(next), from), "it has ended");
}

/// Checks that an isolated call in a stolen job hides nothing that the job has pushed, and nothing
/// that it pushes itself, and brings back nothing that a job has left below it.
#[test]
fn an_isolated_call_is_of_the_job_that_makes_it() {
    let registry = registry::<Test>(2);
    let [waiter, thief]: [WorkerThread<Test>; 2] = workers(&registry);
    let jobs: [_; 3] =
        core::array::from_fn(|_| StackJob::new(|_| (), BlockingLatch::<Test>::new()));
    let push = |number: usize| {
        let position = thief.own().next_position();
        // SAFETY: 1. they stay longer than they are used; 2. none is run.
        let job = unsafe { jobs[number].as_job_ref() };
        thief.own().try_push(job).unwrap();
        Theft {
            victim: 1,
            position,
        }
    };
    let from = waiter.own().next_position();
    let stolen = Theft {
        victim: 0,
        position: from,
    };
    thief.with_lineage(Some(stolen), Isolation::Subtree, || {
        let first = push(0);
        thief.isolate(Isolation::Subtree, || {
            assert!(waiter.is_descendant(first, from), "it was there");
            let second = push(1);
            assert!(waiter.is_descendant(second, from));
        });
        assert!(waiter.is_descendant(first, from));
        thief.isolate(Isolation::Subtree, || {
            thief.with_lineage(None, Isolation::Subtree, || _ = push(2));
            assert!(
                !waiter.is_descendant(first, from),
                "below a job that left one"
            );
        });
        assert!(!waiter.is_descendant(first, from));
    });
}

/// Jobs that do not belong to what the waiter waits for run on top of its wait: those of a
/// borrower, or one that only the waiter may run. When these have ended, thieves may still run what
/// they have pushed.
#[test]
fn stolen_foreign_jobs_do_not_descend_from_the_wait_below() {
    let registry = registry::<Test>(2);
    let [waiter, thief]: [WorkerThread<Test>; 2] = workers(&registry);
    let jobs: [_; 4] =
        core::array::from_fn(|_| StackJob::new(|_| (), BlockingLatch::<Test>::new()));
    let push = |worker: &WorkerThread<Test>, number: usize| {
        let position = worker.own().next_position();
        // SAFETY: 1. they stay longer than they are used; 2. none is run.
        let job = unsafe { jobs[number].as_job_ref() };
        worker.own().try_push(job).unwrap();
        position
    };
    let steal = |position| {
        assert!(thief.steal_if(0, |at| at == position).is_success());
        Theft {
            victim: 0,
            position,
        }
    };
    waiter.isolate(Isolation::Subtree, || {
        let from = push(&waiter, 0);
        let mut foreign = None;
        waiter.borrow_isolated(|| {
            steal(from);
            foreign = Some(steal(push(&waiter, 1)));
        });
        thief.with_lineage(foreign, Isolation::Subtree, || {
            let left = Theft {
                victim: 1,
                position: push(&thief, 2),
            };
            assert!(!waiter.is_descendant(foreign.unwrap(), from));
            assert!(!waiter.is_descendant(left, from));
        });
        assert!(waiter.is_descendant(steal(push(&waiter, 3)), from));
    });
}
