//! How many rounds a worker does.

use core::time::Duration;
use std::rc::Rc;

use super::{
    steps::{Channel, Workers, assert_at_rest, start},
    *,
};
use crate::{
    policy::Relax,
    testing::scripted::{Scripted, searches_until_last_look},
};

/// Checks both kinds of wakers: a notifier, and the setter of the latch.
#[test]
fn a_worker_whose_wake_up_took_long_does_no_fewer_rounds() {
    let slots = [const { HintSlot::new(Channel::new(Scripted)) }; 2];
    let policy = IdlePolicy::new(64, 65, Relax::Spin(1))
        .with_adaptive_rounds(true)
        .with_time_limit(Some(Duration::from_micros(20)));
    let sleep = Rc::new(Workers::from_array(slots, policy));
    // The clock begins.
    Scripted::advance_clock(0);
    let wake_worker: fn(&Workers<2>) = |sleep| assert!(sleep.wake_worker(sleep.worker(0).unwrap()));
    for wake in [wake_worker, |sleep| sleep.notify(1, Hint::Injector)] {
        let soon = [(20, 3), (20, 4), (20, 6), (20, 10)];
        let late = [(21, 18), (21, 6), (21, 3)];
        for (until_woken, expected) in soon.into_iter().chain(late) {
            let mut idle = start(&sleep, 0);
            let others = sleep.clone();
            Scripted::prepare(move || {
                Scripted::advance_clock(until_woken);
                wake(&others);
                Scripted::advance_clock(100);
            });
            let searches = searches_until_last_look(&*sleep, &mut idle, false);
            assert_eq!(searches, expected);
            sleep.work_found(idle, || false);
        }
    }
}

/// A worker that has long pauses between its jobs still stays awake while it waits for a job that
/// is being run.
#[test]
fn long_pauses_between_jobs_leave_the_rounds_of_waits_as_they_are() {
    let slots = [const { HintSlot::new(Channel::new(Scripted)) }; 2];
    let policy = IdlePolicy::new(64, 65, Relax::Spin(1)).with_adaptive_rounds(true);
    let sleep = Rc::new(Workers::from_array(slots, policy));
    let worker = sleep.worker(0).unwrap();
    // Short waits.
    for _ in 0..6 {
        let mut waiting = sleep.start_looking(worker, Purpose::Wait);
        sleep.no_work_found(&mut waiting, &CoreLatch::new(), || unreachable!("a round"));
        sleep.work_found(waiting, || false);
    }
    // Without a clock, each sleep is long.
    for _ in 0..2 {
        let mut idle = sleep.start_looking(worker, Purpose::Job);
        let waker = sleep.clone();
        Scripted::prepare(move || assert!(waker.wake_worker(worker)));
        assert_eq!(searches_until_last_look(&*sleep, &mut idle, false), 3);
        sleep.work_found(idle, || false);
    }
    let mut waiting = sleep.start_looking(worker, Purpose::Wait);
    assert_eq!(searches_until_last_look(&*sleep, &mut waiting, true), 66);
    sleep.work_found(waiting, || false);
    assert_at_rest(&sleep, 0);
}
