//! Jobs for many workers, or many jobs at once.

use core::ptr::NonNull;

use super::*;
use crate::JobRef;

/// Broadcasts to workers that sleep: a queue that the check before sleeping forgets hangs
/// (rayon#992).
pub(super) fn a_broadcast_reaches_sleeping_workers<P: TestPlatform>() {
    use std::{ptr::NonNull, vec::Vec};

    use crate::{
        BlockingLatch, Latch,
        job::{JobFn, StackJob},
    };

    fn run<P: TestPlatform, L: Latch<Platform = P>, F: JobFn<P>>(
        jobs: &[StackJob<L, F>],
        registry: &Registry<P>,
        nodes: &mut [<P::Queue as JobQueue>::Node],
    ) {
        // SAFETY: both stay until the caller has waited for every latch.
        unsafe {
            registry.inject_broadcast(
                nodes
                    .iter_mut()
                    .zip(jobs)
                    .map(|(node, job)| (NonNull::from(node), job.as_job_ref())),
            );
        }
    }

    with_pool_on::<P, _>(3, |registry| {
        for _ in 0..if cfg!(miri) { 3 } else { 300 } {
            let jobs: Vec<_> = (0..3)
                .map(|_| StackJob::new(|_| here::<P>(), BlockingLatch::<P>::new()))
                .collect();
            let mut nodes: Vec<_> = (0..3).map(|_| P::Queue::node()).collect();
            run(&jobs, registry, &mut nodes);
            for (index, job) in jobs.iter().enumerate() {
                job.latch().wait();
                // SAFETY: 1. the latch is set; 2. once.
                assert_eq!(unsafe { job.take_result() }, index);
            }
        }
    });
}

/// Posts a job by an iterator that panics after it. Returns what the job has returned.
fn post_before_a_panic<P: TestPlatform>(
    run: impl FnOnce() -> usize + Send,
    post: impl FnOnce(&mut dyn Iterator<Item = (NonNull<<P::Queue as JobQueue>::Node>, JobRef)>),
) -> usize {
    let job = StackJob::new(|_: JobContext<'_, P>| run(), BlockingLatch::<P>::new());
    let mut node = P::Queue::node();
    let node = NonNull::from(&mut node);
    let panic = catch_unwind(AssertUnwindSafe(|| {
        let jobs = core::iter::once(()).map(|()| {
            // SAFETY: 1. it stays until its latch is set; 2. this is the only use, and any thread
            // may set it.
            (node, unsafe { job.as_job_ref() })
        });
        post(&mut jobs.chain(core::iter::once_with(|| panic!("after one job"))));
    }));
    assert!(panic.is_err());
    job.latch().wait();
    // SAFETY: 1. the latch is set; 2. once.
    unsafe { job.take_result() }
}

pub(super) fn jobs_injected_before_a_panic_of_their_iterator_are_run<P: TestPlatform>() {
    with_pool_on::<P, _>(1, |registry| {
        let result = post_before_a_panic::<P>(
            || 7,
            // SAFETY: 1. the node stays until the job has been run.
            |jobs| unsafe { registry.inject_many(jobs) },
        );
        assert_eq!(result, 7);
    });
}

pub(super) fn jobs_broadcast_before_a_panic_of_their_iterator_are_run<P: TestPlatform>() {
    with_pool_on::<P, _>(2, |registry| {
        // Unless they never sleep.
        for _ in 0..if cfg!(miri) { 100 } else { 10_000 } {
            if registry.num_sleeping() < 2 {
                std::thread::yield_now();
            }
        }
        let result = post_before_a_panic::<P>(
            here::<P>,
            // SAFETY: 1. the node stays until the job has been run.
            |jobs| unsafe { registry.inject_broadcast(jobs) },
        );
        assert_eq!(result, 0);
    });
}
