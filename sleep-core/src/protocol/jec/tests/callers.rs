//! Threads outside the pool that wait for jobs.

use core::time::Duration;
use std::rc::Rc;

use super::*;
use crate::{
    LendSeats,
    latch::CoreLatch,
    policy::Relax,
    testing::scripted::{Scripted, searches_until_last_look},
};

type OneWorker = Jec<Inline<Slot<Scripted>, 1>>;

const POLICY: IdlePolicy =
    IdlePolicy::new(64, 65, Relax::Spin(1)).with_time_limit(Some(Duration::from_micros(20)));

/// A program that computes for a moment between two calls gets its workers awake, however long the
/// system takes to wake its own thread.
#[test]
fn the_wake_up_of_a_caller_does_not_count_as_time_without_work() {
    let policy = POLICY.with_adaptive_rounds(true);
    // Until the caller runs again, and from then until it posts its next job.
    for (wake_up, pause, is_short) in [(30, 20, true), (30, 21, false), (1, 20, true)] {
        let slots = [const { Slot::new(Scripted) }; 1];
        let sleep: Rc<OneWorker> = Rc::new(Jec::from_array(slots, policy));
        let worker = sleep.worker(0).unwrap();
        // The clock begins.
        Scripted::advance_clock(0);
        // Some rounds, which find work.
        for _ in 0..6 {
            let mut idle = sleep.start_looking(worker, Purpose::Job);
            sleep.no_work_found(&mut idle, &CoreLatch::new(), || unreachable!("a round"));
            sleep.work_found(idle, || false);
        }
        let caller = sleep.clone();
        Scripted::prepare(move || {
            Scripted::advance_clock(wake_up);
            caller.caller_resumed();
            Scripted::advance_clock(pause);
            assert!(caller.wake_worker(worker));
        });
        let mut idle = sleep.start_looking(worker, Purpose::Job);
        searches_until_last_look(&*sleep, &mut idle, false);
        sleep.work_found(idle, || false);
        let rounds = sleep.slots()[0].history().rounds(Purpose::Job, &policy);
        assert_eq!(rounds, if is_short { 64 } else { 16 }, "{wake_up} {pause}");
    }
}

#[test]
fn the_time_of_rounds_begins_again_when_a_caller_runs() {
    for (resumes, relaxes) in [(true, true), (false, false)] {
        let slots = [const { Slot::new(Scripted) }; 1];
        let sleep: OneWorker = Jec::from_array(slots, POLICY);
        let worker = sleep.worker(0).unwrap();
        Scripted::advance_clock(0);
        // After a job, no worker is sleepy.
        sleep.announce(NewJobs::injected(1, true));
        let mut idle = sleep.start_looking(worker, Purpose::Job);
        let mut relaxes_after = |pause| {
            Scripted::advance_clock(pause);
            sleep.no_work_found(&mut idle, &CoreLatch::new(), || unreachable!("a round"));
            !sleep.counters().jec().is_sleepy()
        };
        assert!(relaxes_after(0));
        assert!(relaxes_after(15));
        if resumes {
            sleep.caller_resumed();
        }
        assert_eq!(relaxes_after(15), relaxes);
        sleep.work_found(idle, || false);
    }
}
