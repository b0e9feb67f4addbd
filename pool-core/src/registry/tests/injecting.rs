//! What a thread that queues a job from outside looks at.

use std::{boxed::Box, cell::Cell, rc::Rc};

use super::super::*;
use crate::{
    JobContext,
    job::StackJob,
    latch::BlockingLatch,
    testing::{Event, Test, observe, registry, with_worker},
    worker::WorkerThread,
};
use sleep_core::{CoreLatch, Purpose};

/// Injects a job and lets the worker run it. Returns how often the injector was asked whether it is
/// empty before it held the job.
fn looks_of_a_poster(worker: &WorkerThread<Test>) -> usize {
    let registry = worker.registry();
    let job = StackJob::new(|_: JobContext<'_, _>| (), BlockingLatch::<Test>::new());
    let mut node = <Test as Platform>::Queue::node();
    let looks = Rc::new(Cell::new(0));
    observe(Some(Box::new({
        let looks = looks.clone();
        move |event| looks.set(looks.get() + usize::from(event == Event::Look))
    })));
    // SAFETY: 1. both stay to the end of this function, and the job is run before that.
    unsafe { registry.inject(NonNull::from(&mut node), job.as_job_ref()) };
    observe(None);
    assert!(worker.yield_now());
    // SAFETY: 1. it has been run; 2. once.
    unsafe { job.take_result() };
    looks.get()
}

/// Whether the injector is empty is on a cache line that workers write.
#[test]
fn a_poster_does_not_look_at_the_injector_while_all_workers_are_awake() {
    with_worker(&registry(1), 0, |worker| {
        assert_eq!(looks_of_a_poster(worker), 0);
        let mut idle = worker.registry().begin_idle(worker.index(), Purpose::Job);
        assert_eq!(looks_of_a_poster(worker), 0);
        let never = CoreLatch::new();
        idle.no_work_found(&never, || unreachable!("it gets sleepy"));
        assert_eq!(looks_of_a_poster(worker), 1);
        idle.end(|| false);
    });
}
