//! Steps of the protocol one by one, in one thread: what other threads do at a certain step is done
//! in the look at the queues, or in `park`.

use std::rc::Rc;

use super::super::*;
use crate::{
    policy::Relax,
    set_latch,
    testing::{TestParker, scripted::Scripted},
};

type Sleep = Classic<Inline<ClassicSlot<Scripted>, 3>>;

fn three_workers(policy: IdlePolicy) -> Rc<Sleep> {
    Rc::new(Classic::from_array(
        [const { ClassicSlot::new(Scripted) }; 3],
        policy,
    ))
}

fn start(sleep: &Sleep, worker: usize) -> IdleState {
    sleep.start_looking(sleep.worker(worker).unwrap(), Purpose::Job)
}

/// Reports so many fruitless searches, after which the worker must not have slept.
fn search_in_vain(sleep: &Sleep, idle: &mut IdleState, times: usize) {
    for _ in 0..times {
        sleep.no_work_found(idle, &CoreLatch::new(), || unreachable!("does not sleep"));
    }
}

/// Plays a worker that goes all the way to sleep. Its look at the queues is `has_work`.
fn fall_asleep(sleep: &Sleep, worker: usize, has_work: impl FnOnce() -> bool) {
    let latch = CoreLatch::new();
    let mut idle = start(sleep, worker);
    search_in_vain(sleep, &mut idle, 1);
    sleep.no_work_found(&mut idle, &latch, has_work);
    sleep.work_found(idle, || false);
}

fn sleepy_worker(sleep: &Sleep) -> Option<usize> {
    sleep.state().sleepy_worker()
}

#[test]
fn a_worker_gets_sleepy_and_falls_asleep_after_its_rounds() {
    let sleep = three_workers(IdlePolicy::new(3, 6, Relax::Spin(1)));
    let mut idle = start(&sleep, 0);
    search_in_vain(&sleep, &mut idle, 3);
    assert_eq!(sleepy_worker(&sleep), None);
    search_in_vain(&sleep, &mut idle, 1);
    assert_eq!(sleepy_worker(&sleep), Some(0));
    search_in_vain(&sleep, &mut idle, 2);
    let mut asked = false;
    sleep.no_work_found(&mut idle, &CoreLatch::new(), || {
        asked = true;
        assert_eq!(sleep.num_sleeping(), 1, "asked after registering");
        true
    });
    assert!(asked, "six fruitless searches, and the seventh");
    assert_eq!((sleep.num_inactive(), sleep.num_sleeping()), (1, 0));
    sleep.work_found(idle, || false);
    assert_eq!(sleep.num_inactive(), 0);
}

/// With the greatest number in each search, workers would burn four times as much processor time as
/// they used to.
#[test]
fn a_policy_that_adapts_gives_a_quarter_of_its_rounds() {
    for (policy, rounds) in [
        (IdlePolicy::BALANCED, 64),
        (IdlePolicy::new(8, 9, Relax::Spin(1)), 8),
    ] {
        let sleep = three_workers(policy);
        let mut idle = start(&sleep, 0);
        search_in_vain(&sleep, &mut idle, rounds);
        assert_eq!(sleepy_worker(&sleep), None);
        search_in_vain(&sleep, &mut idle, 1);
        assert_eq!(sleepy_worker(&sleep), Some(0));
        let mut asked = false;
        sleep.no_work_found(&mut idle, &CoreLatch::new(), || {
            asked = true;
            true
        });
        assert!(asked, "one sleepy round");
        sleep.work_found(idle, || false);
    }
}

#[test]
fn a_worker_stays_at_the_threshold_while_another_is_sleepy() {
    let sleep = three_workers(IdlePolicy::new(2, 2, Relax::Spin(1)));
    let mut first = start(&sleep, 0);
    let mut second = start(&sleep, 1);
    search_in_vain(&sleep, &mut first, 3);
    assert_eq!(sleepy_worker(&sleep), Some(0));
    search_in_vain(&sleep, &mut second, 50);
    assert_eq!(sleepy_worker(&sleep), Some(0));

    sleep.work_found(first, || false);
    assert_eq!(sleepy_worker(&sleep), None);
    // It has waited at the threshold, so the next search is enough.
    search_in_vain(&sleep, &mut second, 1);
    assert_eq!(sleepy_worker(&sleep), Some(1));
    sleep.work_found(second, || false);
}

#[test]
fn the_next_worker_gets_sleepy_when_the_sleepy_one_is_asleep() {
    let sleep = three_workers(IdlePolicy::IMMEDIATE);
    let mut second = start(&sleep, 1);
    fall_asleep(&sleep, 0, || {
        search_in_vain(&sleep, &mut second, 1);
        assert_eq!(sleep.state().word(), 0b101);
        true
    });
    assert_eq!(sleepy_worker(&sleep), Some(1));
    sleep.work_found(second, || false);
}

#[test]
fn finding_work_while_sleepy_resets_the_state() {
    let sleep = three_workers(IdlePolicy::IMMEDIATE);
    let mut idle = start(&sleep, 0);
    search_in_vain(&sleep, &mut idle, 1);
    assert!(!sleep.all_are_awake());
    sleep.work_found(idle, || {
        unreachable!("posters leave nothing to this worker")
    });
    assert!(sleep.all_are_awake());
}

#[test]
fn finding_work_while_sleepy_leaves_the_sleepers_asleep() {
    let sleep = three_workers(IdlePolicy::IMMEDIATE);
    fall_asleep(&sleep, 0, || {
        let mut idle = start(&sleep, 1);
        search_in_vain(&sleep, &mut idle, 1);
        sleep.work_found(idle, || {
            unreachable!("posters leave nothing to this worker")
        });
        assert_eq!((sleep.state().word(), sleep.num_sleeping()), (1, 1));
        true
    });
}

/// Plays a worker whose sleepiness a tickle has ended. It must not end that of the worker after it.
#[test]
fn finding_work_does_not_reset_the_sleepiness_of_another_worker() {
    let sleep = three_workers(IdlePolicy::IMMEDIATE);
    let mut first = start(&sleep, 0);
    search_in_vain(&sleep, &mut first, 1);
    sleep.announce(NewJobs::internal(1, || true));
    let mut second = start(&sleep, 1);
    search_in_vain(&sleep, &mut second, 1);
    sleep.work_found(first, || false);
    assert_eq!(sleepy_worker(&sleep), Some(1));
    sleep.work_found(second, || false);
}

#[test]
fn a_tickle_keeps_the_sleepy_worker_awake_for_all_its_rounds() {
    let sleep = three_workers(IdlePolicy::new(2, 4, Relax::Spin(1)));
    let mut idle = start(&sleep, 0);
    for _ in 0..5 {
        search_in_vain(&sleep, &mut idle, 3);
        assert_eq!(sleepy_worker(&sleep), Some(0));
        sleep.announce(NewJobs::internal(1, || true));
        assert_eq!(sleepy_worker(&sleep), None);
        // It notices in its next round, and starts over.
        search_in_vain(&sleep, &mut idle, 1);
    }
    sleep.work_found(idle, || false);
}

#[test]
fn a_tickle_after_the_last_round_keeps_the_worker_awake() {
    let sleep = three_workers(IdlePolicy::IMMEDIATE);
    let mut idle = start(&sleep, 0);
    for _ in 0..5 {
        search_in_vain(&sleep, &mut idle, 1);
        sleep.announce(NewJobs::injected(1, true));
        search_in_vain(&sleep, &mut idle, 1);
        assert_eq!((sleep.state().word(), sleep.num_sleeping()), (0, 0));
    }
    sleep.work_found(idle, || false);
}

#[test]
fn a_tickle_wakes_all_sleepers() {
    let sleep = three_workers(IdlePolicy::IMMEDIATE);
    fall_asleep(&sleep, 0, || {
        fall_asleep(&sleep, 1, || {
            fall_asleep(&sleep, 2, || {
                assert_eq!((sleep.num_sleeping(), sleep.num_inactive()), (3, 3));
                sleep.announce(NewJobs::internal(1, || unreachable!("is never asked")));
                assert_eq!((sleep.num_sleeping(), sleep.num_inactive()), (0, 3));
                // Each returns without parking: its token is there.
                false
            });
            false
        });
        false
    });
    assert_eq!(sleep.num_inactive(), 0);
    assert!(sleep.all_are_awake());
}

/// Plays a worker that is about to register, while a tickle strips the sleepy one. No worker is
/// asleep, so the tickle looks at no slot.
#[test]
fn a_tickle_while_none_is_asleep_looks_at_no_slot() {
    let sleep = three_workers(IdlePolicy::IMMEDIATE);
    let mut idle = start(&sleep, 0);
    search_in_vain(&sleep, &mut idle, 1);
    sleep.slots()[2].state().open();
    sleep.announce(NewJobs::internal(1, || unreachable!("is never asked")));
    assert!(sleep.all_are_awake());
    assert!(sleep.slots()[2].state().close(Tenant::Host), "not claimed");
    sleep.work_found(idle, || false);
}

#[test]
fn a_set_latch_keeps_the_worker_awake() {
    let sleep = three_workers(IdlePolicy::IMMEDIATE);
    let latch = CoreLatch::new();
    let mut idle = start(&sleep, 0);
    search_in_vain(&sleep, &mut idle, 1);
    // SAFETY: 1. to 3. all of them live in this frame, and the worker is this thread; 4. it waits
    // for this.
    unsafe { set_latch(&*sleep, &latch, sleep.worker(0).unwrap()) };
    sleep.no_work_found(&mut idle, &latch, || unreachable!("the latch is set"));
    assert_eq!(sleep.num_sleeping(), 0);
    sleep.work_found(idle, || false);
    assert!(sleep.all_are_awake(), "it is sleepy no more");
}

/// Sets the latch, announces a job, or posts one for this worker, just after it has registered.
#[test]
fn a_wake_before_the_park_is_not_lost() {
    let sleep: Classic<_> = Classic::from_array(
        [
            ClassicSlot::new(TestParker::new()),
            ClassicSlot::new(TestParker::new()),
        ],
        IdlePolicy::IMMEDIATE,
    );
    let worker = sleep.worker(1).unwrap();
    let wakers: [fn(&Classic<_>, &CoreLatch, WorkerIndex); 3] = [
        // SAFETY: 1. to 3. all of them live in the frame of the test; 4. no frame ends with it.
        |sleep, latch, worker| unsafe { set_latch(sleep, latch, worker) },
        |sleep, _, _| sleep.announce(NewJobs::injected(1, true)),
        |sleep, _, worker| sleep.announce_for([worker]),
    ];
    for wake in wakers {
        let latch = CoreLatch::new();
        let mut idle = sleep.start_looking(worker, Purpose::Job);
        sleep.no_work_found(&mut idle, &latch, || unreachable!("only gets sleepy"));
        sleep.no_work_found(&mut idle, &latch, || {
            wake(&sleep, &latch, worker);
            false
        });
        sleep.work_found(idle, || false);
        assert_eq!((sleep.num_inactive(), sleep.num_sleeping()), (0, 0));
    }
}

/// Wakes one worker by its latch. The other one must still be found by the next tickle.
#[test]
fn waking_one_worker_leaves_the_others_to_the_next_tickle() {
    let sleep = three_workers(IdlePolicy::IMMEDIATE);
    fall_asleep(&sleep, 0, || {
        fall_asleep(&sleep, 1, || {
            assert!(sleep.wake_worker(sleep.worker(1).unwrap()));
            assert!(!sleep.wake_worker(sleep.worker(1).unwrap()), "once");
            false
        });
        assert_eq!((sleep.state().word(), sleep.num_sleeping()), (1, 1));
        sleep.announce(NewJobs::internal(1, || true));
        assert_eq!((sleep.state().word(), sleep.num_sleeping()), (0, 0));
        false
    });
}

/// Plays a thread that claims worker 1 and is interrupted until that worker parks.
fn claim_and_be_interrupted(sleep: &Rc<Sleep>) {
    assert!(sleep.slots()[1].state().claim());
    let waker = sleep.clone();
    Scripted::prepare(move || waker.slots()[1].state().release_and_unpark());
}

/// Interrupts a waker that has claimed the worker. The worker finds work, and must stay until the
/// waker has finished. Otherwise the waker would mark its slot as awake in the middle of its next
/// sleep.
#[test]
fn a_worker_that_turns_back_waits_for_its_waker() {
    let sleep = three_workers(IdlePolicy::IMMEDIATE);
    fall_asleep(&sleep, 1, || {
        claim_and_be_interrupted(&sleep);
        true
    });
    Scripted::assert_done();
}

/// Interrupts a waker likewise when the worker finds nothing: being claimed is not enough for it to
/// leave.
#[test]
fn a_sleeper_waits_for_its_waker() {
    let sleep = three_workers(IdlePolicy::IMMEDIATE);
    fall_asleep(&sleep, 1, || {
        claim_and_be_interrupted(&sleep);
        false
    });
    Scripted::assert_done();
}
