//! Positions that have come round, as they do with 32 bits after 2²⁹ steps of the deque.

use std::{
    sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    thread,
};

use super::super::*;
use crate::{
    job::StackJob,
    latch::BlockingLatch,
    testing::{Test, with_pool},
};

/// A thief runs the second half while the first one leaves another job at the position of that.
#[test]
fn another_job_at_the_position_of_a_stolen_one_is_not_taken_for_it() {
    let [has_begun, may_end] = [(); 2].map(|()| AtomicBool::new(false));
    let [halves, others] = [(); 2].map(|()| AtomicUsize::new(0));
    let wait_for = |event: &AtomicBool| {
        while !event.load(SeqCst) {
            thread::yield_now();
        }
    };
    with_pool(2, |registry| {
        registry.in_worker(|worker, _| {
            let second = |_: JobContext<'_, Test>| {
                if halves.fetch_add(1, SeqCst) > 0 {
                    // So that the thief ends when the test fails.
                    may_end.store(true, SeqCst);
                }
                has_begun.store(true, SeqCst);
                wait_for(&may_end);
            };
            let other = StackJob::new(
                |_: JobContext<'_, Test>| {
                    others.fetch_add(1, SeqCst);
                    may_end.store(true, SeqCst);
                },
                BlockingLatch::new(),
            );
            let job = JoinJob::<Test, _>::new(second, worker.own().next_position());
            let first = |_: JobContext<'_, Test>| {
                wait_for(&has_begun);
                let position = worker.own().next_position();
                // SAFETY: `set_position`: 1. the worker has pushed it, and has not waited.
                // `as_job_ref`: 1. the worker runs it before it returns from the join. `post`: 1.
                // it is used for this alone.
                unsafe {
                    job.header.set_position(position);
                    worker.post(other.as_job_ref());
                }
            };
            // SAFETY: `as_job_ref`: 1. it stays until `join_pushed` returns. `post`: 1. likewise.
            unsafe { worker.post(job.as_job_ref()) };
            worker.join_pushed(first, &job, false);
        });
    });
    assert_eq!((halves.into_inner(), others.into_inner()), (1, 1));
}
