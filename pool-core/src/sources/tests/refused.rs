//! A search while the system refuses the process fence that a steal needs.

use core::num::NonZeroU32;
use std::{
    array,
    sync::atomic::{AtomicUsize, Ordering::SeqCst, fence},
};

use deque_core::{Deque, FencePrice, Order};
use sleep_primitives::AsymmetricFence;

use crate::{
    WorkerThread,
    job::{JobContext, StackJob},
    latch::BlockingLatch,
    testing::{Test, registry_of, workers},
};

/// How often the fence is refused until it works again, so that a search that goes on for so long
/// ends as well.
const REFUSALS: usize = 100_000;

/// How often it has been refused.
static REFUSED: AtomicUsize = AtomicUsize::new(0);

/// A fence that the system takes back.
struct TakenBack;

// SAFETY: 1. the test that uses it has one thread; 2. neither panics.
unsafe impl AsymmetricFence for TakenBack {
    fn light() {}

    fn heavy() -> bool {
        fence(SeqCst);
        REFUSED.fetch_add(1, SeqCst) >= REFUSALS
    }
}

// SAFETY: as above.
unsafe impl FencePrice for TakenBack {
    fn price() -> Option<NonZeroU32> {
        NonZeroU32::new(2)
    }
}

fn nest(worker: &WorkerThread<Test>, depth: usize) {
    if depth > 0 {
        worker.join_context(|by| nest(by.worker(), depth - 1), |_| (), false);
    }
}

/// Reproduces a bug: the search went on until the owner of the deque popped. So a worker that
/// waited did not see that its latch was set, and the owner could be in a job that needed what the
/// worker would do next.
#[test]
#[cfg(any(target_arch = "x86_64", target_arch = "x86", target_arch = "aarch64"))]
fn a_search_ends_although_the_owner_of_a_job_does_not_pop() {
    let deque = || Deque::fixed(Order::Lifo).with_process_fence::<TakenBack>();
    let registry = registry_of(2, deque);
    let workers: [WorkerThread<Test>; 2] = workers(&registry);
    let [thief, victim] = array::from_fn(|index| &workers[index]);
    let job = StackJob::new(|_: JobContext<'_, _>| (), BlockingLatch::<Test>::new());
    // Four pops with fences cost as much as a revocation.
    nest(victim, 4);
    // SAFETY: 1. it stays to the end of this function, and is run below.
    assert!(victim.own().try_push(unsafe { job.as_job_ref() }).is_ok());
    for _ in 0..3 {
        assert!(thief.find_work().is_none());
    }
    assert!(REFUSED.load(SeqCst) < REFUSALS, "for as long as it took");
    // The owner has the job nevertheless.
    assert!(victim.yield_now());
    // SAFETY: 1. it has been run; 2. once.
    unsafe { job.take_result() };
}
