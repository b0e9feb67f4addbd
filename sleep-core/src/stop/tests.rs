#![forbid(unsafe_code)]

use super::*;
use crate::{
    IdlePolicy, Jec, Purpose, Slot,
    testing::{NewParker as _, SpinningParker, TestJec, TestProtocol},
};

/// The pool of a kernel: everything is in statics.
#[test]
fn latches_in_a_static_stop_all_workers_without_unsafe_code() {
    static STOP: [StopLatch; 3] = [const { StopLatch::new() }; 3];
    for policy in [IdlePolicy::IMMEDIATE, IdlePolicy::DEFAULT] {
        let slots = [(); 3].map(|()| Slot::new(SpinningParker::new()));
        let sleep: &Jec<_> = &Jec::from_array(slots, policy);
        std::thread::scope(|threads| {
            for (index, stop) in STOP.iter().enumerate() {
                threads.spawn(move || {
                    let mut idle = sleep.start_looking(sleep.worker(index).unwrap(), Purpose::Job);
                    while !stop.probe() {
                        sleep.no_work_found(&mut idle, stop.latch(), || false);
                    }
                    sleep.work_found(idle, || false);
                    stop.latch().reset();
                });
            }
            // Liveness: there is no job, so all workers fall asleep.
            while sleep.num_sleeping() < 3 {
                std::thread::yield_now();
            }
            StopLatch::set_all(&STOP, sleep);
        });
        assert_eq!((sleep.num_inactive(), sleep.num_sleeping()), (0, 0));
    }
}

/// Otherwise the third worker would sleep on.
#[test]
#[should_panic = "2 latches for 3 workers"]
fn fewer_latches_than_workers_are_refused() {
    let sleep = <TestJec as TestProtocol>::new(3, IdlePolicy::DEFAULT);
    StopLatch::set_all(&[StopLatch::new(), StopLatch::new()], &sleep);
}
