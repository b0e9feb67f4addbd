//! What debug assertions find, and the counts would not show before they overflow.

use super::*;

pub(super) fn an_idle_state_that_is_dropped_is_found<S: TestProtocol>() {
    let sleep = S::new(1, IdlePolicy::DEFAULT);
    let worker = sleep.worker(0).unwrap();
    drop(sleep.start_looking(worker, Purpose::Job));
    let _idle = sleep.start_looking(worker, Purpose::Job);
}

pub(super) fn two_threads_that_are_one_worker_are_found<S: TestProtocol>() {
    let sleep = &S::new(3, IdlePolicy::DEFAULT);
    let worker = sleep.worker(1).unwrap();
    let mut idle = sleep.start_looking(worker, Purpose::Job);
    sleep.no_work_found(&mut idle, &CoreLatch::new(), || false);
    let _waiting = sleep.start_looking(worker, Purpose::Wait);
}

/// A panic in a last look leaves the worker registered, so that the next wake-up is lost on it.
pub(super) fn a_worker_that_left_its_last_look_by_a_panic_is_found<S: TestProtocol>() {
    let sleep = S::new(1, IdlePolicy::IMMEDIATE);
    let worker = sleep.worker(0).unwrap();
    let look = std::panic::AssertUnwindSafe(|| {
        let (latch, mut idle) = (CoreLatch::new(), sleep.start_looking(worker, Purpose::Job));
        loop {
            sleep.no_work_found(&mut idle, &latch, || panic!("in the last look"));
        }
    });
    std::panic::catch_unwind(look).unwrap_err();
    let _idle = sleep.start_looking(worker, Purpose::Job);
}

pub(super) fn an_idle_state_of_another_pool_is_found<S: TestProtocol>() {
    let [one, other] = [(); 2].map(|()| S::new(2, IdlePolicy::DEFAULT));
    let mut idle = one.start_looking(one.worker(1).unwrap(), Purpose::Job);
    other.no_work_found(&mut idle, &CoreLatch::new(), || false);
}

pub(super) fn an_idle_state_that_ends_in_another_pool_is_found<S: TestProtocol>() {
    let [one, other] = [(); 2].map(|()| S::new(2, IdlePolicy::DEFAULT));
    other.work_found(
        one.start_looking(one.worker(1).unwrap(), Purpose::Job),
        || false,
    );
}
