//! Jobs under a long computation: how many of them have others done when it ends?

use std::{
    hint::black_box,
    sync::atomic::{AtomicUsize, Ordering},
};

use protocol::Unit;

use super::{Program, Written};
use crate::{computation::compute, fork_join::ForkJoin};

pub(super) struct LongLeaf;

const JOBS: usize = 1000;
const MILLISECONDS: u32 = 20;

impl Program for LongLeaf {
    const NAME: &str = "long-leaf";
    const UNIT: Unit = Unit::Count;
}

impl<P: ForkJoin> Written<P> for LongLeaf {
    fn measure(pool: &P) -> f64 {
        let done = AtomicUsize::new(0);
        let done_by_others = pool.run(|context| leaf_under_jobs::<P>(context, JOBS, &done));
        assert_eq!(done.into_inner(), JOBS);
        done_by_others as f64
    }
}

/// Queues so many jobs, then computes. Returns how many of them were done when that ended.
fn leaf_under_jobs<P: ForkJoin>(
    context: &mut P::Context<'_>,
    jobs: usize,
    done: &AtomicUsize,
) -> usize {
    if jobs == 0 {
        black_box(compute(MILLISECONDS));
        return done.load(Ordering::Relaxed);
    }
    let (done_by_others, _) = P::join(
        context,
        |context| leaf_under_jobs::<P>(context, jobs - 1, done),
        |_| done.fetch_add(1, Ordering::Relaxed),
    );
    done_by_others
}
