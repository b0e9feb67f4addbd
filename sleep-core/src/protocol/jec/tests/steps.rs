//! Steps of the protocol one by one, in one thread: what other threads do at a certain step is done
//! in the look at the queues, or in `park`.

use core::time::Duration;
use std::{cell::Cell, rc::Rc, vec::Vec};

use super::*;
use crate::{
    Searchers,
    policy::Relax,
    testing::scripted::{Scripted, searches_until_last_look},
};

type TwoWorkers = Jec<Inline<Slot<Scripted>, 2>>;

fn two_workers() -> Rc<TwoWorkers> {
    let slots = [const { Slot::new(Scripted) }; 2];
    Rc::new(Jec::from_array(slots, IdlePolicy::IMMEDIATE))
}

/// Plays a thread that claims worker 1 and is interrupted until that worker parks.
fn claim_and_be_interrupted(sleep: &Rc<TwoWorkers>) {
    assert!(sleep.slots()[1].state().claim());
    let waker = sleep.clone();
    Scripted::prepare(move || waker.wake_claimed(1));
}

/// Plays worker 1, which goes to sleep; its look at the queues is `has_work`.
fn fall_asleep(sleep: &TwoWorkers, has_work: impl FnOnce() -> bool) {
    let latch = CoreLatch::new();
    let mut idle = sleep.start_looking(sleep.worker(1).unwrap(), Purpose::Job);
    sleep.no_work_found(&mut idle, &latch, || unreachable!("only announces"));
    sleep.no_work_found(&mut idle, &latch, has_work);
    sleep.work_found(idle, || false);
    let counters = sleep.counters();
    assert_eq!((counters.inactive(), counters.sleeping()), (0, 0));
}

/// Plays the first `count` workers, which fall asleep one after the other. The look of the last one
/// is `then`. All of them see work in their looks.
fn fall_asleep_together<S: Slots<Parker = Scripted>>(
    sleep: &Jec<S>,
    count: usize,
    then: &dyn Fn(),
) {
    let Some(number) = count.checked_sub(1) else {
        return then();
    };
    let mut idle = sleep.start_looking(sleep.worker(number).unwrap(), Purpose::Job);
    let mut has_looked = false;
    while !has_looked {
        sleep.no_work_found(&mut idle, &CoreLatch::new(), || {
            has_looked = true;
            fall_asleep_together(sleep, number, then);
            true
        });
    }
    sleep.work_found(idle, || false);
}

#[test]
fn a_worker_beyond_the_limit_sleeps_without_rounds() {
    let slots = [const { Slot::new(Scripted) }; 2];
    let policy = IdlePolicy::new(4, 9, Relax::Spin(1)).with_max_searchers(Searchers::ONE);
    let sleep: TwoWorkers = Jec::from_array(slots, policy);
    let [first, second] = [0, 1].map(|index| sleep.worker(index).unwrap());
    let mut searching = sleep.start_looking(first, Purpose::Job);
    let mut idle = sleep.start_looking(second, Purpose::Job);
    assert_eq!(searches_until_last_look(&sleep, &mut idle, true), 2);
    sleep.work_found(idle, || false);
    assert_eq!(searches_until_last_look(&sleep, &mut searching, true), 10);
    sleep.work_found(searching, || false);
    // Now there is room.
    let mut idle = sleep.start_looking(second, Purpose::Job);
    assert_eq!(searches_until_last_look(&sleep, &mut idle, true), 10);
    sleep.work_found(idle, || false);
}

#[test]
fn a_worker_that_waits_does_rounds_beyond_the_limit() {
    let slots = [const { Slot::new(Scripted) }; 2];
    let policy = IdlePolicy::new(4, 9, Relax::Spin(1)).with_max_searchers(Searchers::ONE);
    let sleep: TwoWorkers = Jec::from_array(slots, policy);
    let [first, second] = [0, 1].map(|index| sleep.worker(index).unwrap());
    let searching = sleep.start_looking(first, Purpose::Job);
    let mut waiting = sleep.start_looking(second, Purpose::Wait);
    assert_eq!(searches_until_last_look(&sleep, &mut waiting, true), 10);
    sleep.work_found(searching, || false);
    // It takes the room of another one.
    let mut beyond = sleep.start_looking(first, Purpose::Job);
    assert_eq!(searches_until_last_look(&sleep, &mut beyond, true), 2);
    sleep.work_found(beyond, || false);
    sleep.work_found(waiting, || false);
    assert_eq!(sleep.counters().inactive(), 0);
}

/// So a program that needs all workers again and again finds them awake.
#[test]
fn a_worker_that_slept_for_a_moment_does_rounds_beyond_half_of_the_workers() {
    let policy = IdlePolicy::new(64, 65, Relax::Spin(1))
        .with_adaptive_rounds(true)
        .with_time_limit(Some(Duration::from_micros(20)));
    // The clock begins.
    Scripted::advance_clock(0);
    let without_limit = policy.with_time_limit(None);
    for (policy, limit, short, credit) in [
        (policy, Searchers::Half, 20, 15),
        // Three workers on two processors: rounds last twice as long, and so do short sleeps.
        (policy.for_processors(3, 2), Searchers::Half, 40, 15),
        // A number is a limit for all.
        (policy, Searchers::at_most(2), 20, 0),
        // Otherwise each sleep would be a short one.
        (without_limit, Searchers::Half, 20, 0),
    ] {
        let slots: Vec<_> = (0..3).map(|_| Slot::new(Scripted)).collect();
        let policy = policy.with_max_searchers(limit);
        let sleep: Rc<Jec<_>> = Rc::new(Jec::new(slots, policy).unwrap());
        let [first, second, third] = [0, 1, 2].map(|index| sleep.worker(index).unwrap());
        // How often the third worker does rounds while the others search.
        let searches_beyond = || {
            let searching = [first, second].map(|worker| sleep.start_looking(worker, Purpose::Job));
            let does_rounds = |_: &usize| {
                let mut beyond = sleep.start_looking(third, Purpose::Job);
                let searches = searches_until_last_look(&*sleep, &mut beyond, true);
                sleep.work_found(beyond, || false);
                searches > 2
            };
            let times = (0..99).take_while(does_rounds).count();
            for idle in searching {
                sleep.work_found(idle, || false);
            }
            times
        };
        assert_eq!(searches_beyond(), 0);
        for (until_woken, expected) in [(short, credit), (short + 1, 0)] {
            let mut idle = sleep.start_looking(third, Purpose::Job);
            let waker = sleep.clone();
            Scripted::prepare(move || {
                Scripted::advance_clock(until_woken);
                assert!(waker.wake_worker(third));
            });
            searches_until_last_look(&*sleep, &mut idle, false);
            sleep.work_found(idle, || false);
            assert_eq!(searches_beyond(), expected);
        }
    }
}

#[test]
fn a_worker_that_sleeps_leaves_its_place_to_another_searcher() {
    let slots = [const { Slot::new(Scripted) }; 2];
    let policy = IdlePolicy::new(4, 5, Relax::Spin(1)).with_max_searchers(Searchers::ONE);
    let sleep: Rc<TwoWorkers> = Rc::new(Jec::from_array(slots, policy));
    let [first, second] = [0, 1].map(|index| sleep.worker(index).unwrap());
    let mut sleeper = sleep.start_looking(first, Purpose::Job);
    let other = sleep.clone();
    Scripted::prepare(move || {
        let mut idle = other.start_looking(second, Purpose::Job);
        assert_eq!(searches_until_last_look(&*other, &mut idle, true), 6);
        other.work_found(idle, || false);
        other.wake_worker(first);
    });
    let latch = CoreLatch::new();
    for _ in 0..5 {
        sleep.no_work_found(&mut sleeper, &latch, || unreachable!("not before the last"));
    }
    sleep.no_work_found(&mut sleeper, &latch, || false);
    Scripted::assert_done();
    sleep.work_found(sleeper, || false);
}

/// Checks that five sleepers make no room for searchers: two of three workers that are awake may
/// search.
#[test]
fn half_of_the_workers_that_are_awake_may_search() {
    let slots: Vec<_> = (0..8).map(|_| Slot::new(Scripted)).collect();
    let policy = IdlePolicy::new(4, 5, Relax::Spin(1)).with_max_searchers(Searchers::Half);
    let sleep: Jec<_> = Jec::new(slots, policy).unwrap();
    let awake = [5, 6, 7].map(|index| sleep.worker(index).unwrap());
    fall_asleep_together(&sleep, 5, &|| {
        let [mut first, mut second, mut third] =
            awake.map(|worker| sleep.start_looking(worker, Purpose::Job));
        assert_eq!(searches_until_last_look(&sleep, &mut third, true), 2);
        assert_eq!(searches_until_last_look(&sleep, &mut second, true), 6);
        assert_eq!(searches_until_last_look(&sleep, &mut first, true), 6);
        for idle in [first, second, third] {
            sleep.work_found(idle, || false);
        }
    });
    // With none asleep, half of all.
    let mut idle: Vec<_> = (0..5)
        .map(|index| sleep.start_looking(sleep.worker(index).unwrap(), Purpose::Job))
        .collect();
    assert_eq!(searches_until_last_look(&sleep, &mut idle[3], true), 6);
    assert_eq!(searches_until_last_look(&sleep, &mut idle[4], true), 2);
    for idle in idle {
        sleep.work_found(idle, || false);
    }
}

/// Posts more jobs than a poster wakes workers for. The others are left to the cascade.
#[test]
fn a_poster_wakes_a_few_workers() {
    wakes_by_poster(IdlePolicy::IMMEDIATE, 8);
}

/// Checks that where workers share processors, a poster wakes no worker that would wait for one.
#[test]
fn with_few_processors_a_poster_wakes_fewer() {
    for (processors, enough) in [(1, 1), (2, 1), (3, 2), (11, 8)] {
        wakes_by_poster(
            IdlePolicy::IMMEDIATE.for_processors(SLEEPERS, processors),
            enough,
        );
    }
}

const SLEEPERS: usize = 12;

fn wakes_by_poster(policy: IdlePolicy, enough: usize) {
    with_sleepers(policy, 0, |sleep| {
        sleep.announce(NewJobs::injected(SLEEPERS, true));
        assert_eq!(sleep.counters().awake_but_idle(), enough);
        // A backlog, for which enough workers are on their way.
        sleep.announce(NewJobs::injected(1, false));
        assert_eq!(sleep.counters().awake_but_idle(), enough);
    });
}

#[test]
fn a_worker_that_finds_work_wakes_two() {
    assert_eq!(wakes_by_cascade(IdlePolicy::IMMEDIATE, 0, 1), 2);
    assert_eq!(wakes_by_cascade(IdlePolicy::IMMEDIATE, 7, 1), 2);
}

/// Checks that a worker that has found work wakes no other if many are idle, and half as many as
/// are active. All of those that are blocked in their jobs are active.
#[test]
fn a_worker_leaves_the_rest_to_those_that_are_idle() {
    let wakes = |active| wakes_by_cascade(IdlePolicy::IMMEDIATE, 8, active);
    assert_eq!([1, 16, 17].map(wakes), [0, 0, 2]);
    // What is enough for a poster does not matter.
    let shared = IdlePolicy::IMMEDIATE.with_enough_idle(1);
    assert_eq!(wakes_by_cascade(shared, 7, 1), 2);
}

/// Lets one of so many active workers find work while so many others are idle. Returns how many it
/// wakes.
fn wakes_by_cascade(policy: IdlePolicy, idle: usize, active: usize) -> usize {
    let woken = Cell::new(usize::MAX);
    with_sleepers(policy, active, |sleep| {
        assert_eq!(wake_any(sleep, idle), idle);
        let leaving = sleep.start_looking(sleep.worker(SLEEPERS).unwrap(), Purpose::Job);
        sleep.work_found(leaving, || true);
        woken.set(sleep.counters().awake_but_idle() - idle);
    });
    woken.get()
}

/// Runs a closure while [`SLEEPERS`] workers sleep and so many others are active.
fn with_sleepers(policy: IdlePolicy, active: usize, closure: impl Fn(&Jec<Vec<Slot<Scripted>>>)) {
    let slots = (0..SLEEPERS + active).map(|_| Slot::new(Scripted));
    let sleep = Jec::new(slots.collect(), policy).unwrap();
    fall_asleep_together(&sleep, SLEEPERS, &|| {
        assert_eq!(sleep.counters().sleeping(), SLEEPERS);
        closure(&sleep);
    });
    assert_eq!(sleep.counters().inactive(), 0);
}

#[test]
fn a_worker_woken_for_nothing_does_half_of_its_rounds() {
    let slots = [const { Slot::new(Scripted) }; 2];
    let policy = IdlePolicy::new(8, 9, Relax::Spin(1));
    let sleep: Rc<TwoWorkers> = Rc::new(Jec::from_array(slots, policy));
    let worker = sleep.worker(0).unwrap();
    let mut idle = sleep.start_looking(worker, Purpose::Job);
    for expected in [10, 6, 4, 3, 2, 2] {
        let waker = sleep.clone();
        Scripted::prepare(move || assert!(waker.wake_worker(worker)));
        assert_eq!(
            searches_until_last_look(&*sleep, &mut idle, false),
            expected
        );
    }
    sleep.work_found(idle, || false);
}

#[test]
fn a_worker_whose_wake_up_took_long_does_no_fewer_rounds() {
    let slots = [const { Slot::new(Scripted) }; 2];
    let policy = IdlePolicy::new(64, 65, Relax::Spin(1))
        .with_adaptive_rounds(true)
        .with_time_limit(Some(Duration::from_micros(20)));
    let sleep: Rc<TwoWorkers> = Rc::new(Jec::from_array(slots, policy));
    let worker = sleep.worker(0).unwrap();
    // The clock begins.
    Scripted::advance_clock(0);
    for (until_woken, searches) in [(20, 3), (20, 4), (20, 6), (21, 10), (21, 4), (20, 3)] {
        let mut idle = sleep.start_looking(worker, Purpose::Job);
        let waker = sleep.clone();
        Scripted::prepare(move || {
            Scripted::advance_clock(until_woken);
            assert!(waker.wake_worker(worker));
            Scripted::advance_clock(100);
        });
        assert_eq!(
            searches_until_last_look(&*sleep, &mut idle, false),
            searches
        );
        sleep.work_found(idle, || false);
    }
}

/// Posts two jobs while one worker searches. The poster counts on it for one of them; that a
/// sleeper is needed for the other one, only that worker can know.
#[test]
fn a_worker_that_finds_work_wakes_a_sleeper_for_more() {
    let sleep = two_workers();
    fall_asleep(&sleep, || {
        let idle = sleep.start_looking(sleep.worker(0).unwrap(), Purpose::Job);
        sleep.work_found(idle, || true);
        assert_eq!(sleep.counters().sleeping(), 0, "the sleeper was woken");
        false
    });
}

#[test]
fn a_worker_that_finds_the_only_work_wakes_none() {
    let sleep = two_workers();
    fall_asleep(&sleep, || {
        let idle = sleep.start_looking(sleep.worker(0).unwrap(), Purpose::Job);
        sleep.work_found(idle, || false);
        assert_eq!(sleep.counters().sleeping(), 1);
        true
    });
}

/// Checks that wakers look only at workers that sleep: a worker that turns back, is woken for a job
/// of its own, or is woken for any job, says so.
#[test]
fn a_worker_that_does_not_sleep_is_not_looked_at() {
    if AtomicCounters::MAX_THREADS <= 255 {
        // Wakers look at all slots.
        return;
    }
    let sleep = two_workers();
    let found = || {
        let mut found = std::vec::Vec::new();
        let sleepers = &sleep.shared.sleepers;
        sleepers.find(sleep.slots(), None, |worker| {
            found.push(worker);
            false
        });
        found
    };
    fall_asleep(&sleep, || {
        assert_eq!(found(), [1]);
        true
    });
    assert_eq!(found(), []);
    fall_asleep(&sleep, || !sleep.wake_worker(sleep.worker(1).unwrap()));
    assert_eq!(found(), []);
    fall_asleep(&sleep, || wake_any(&sleep, 2) == 0);
    assert_eq!(found(), []);
}

/// Interrupts a waker that has claimed the worker. The worker finds work, and must stay until the
/// waker has finished. Otherwise the waker would lower a count that is no longer the worker's, and
/// mark its slot as awake in the middle of its next sleep.
#[test]
fn a_worker_that_turns_back_waits_for_its_waker() {
    let sleep = two_workers();
    fall_asleep(&sleep, || {
        claim_and_be_interrupted(&sleep);
        true
    });
    Scripted::assert_done();
}

/// Interrupts a waker likewise when the worker finds nothing: being claimed is not enough for it to
/// leave.
#[test]
fn a_sleeper_waits_for_its_waker() {
    let sleep = two_workers();
    fall_asleep(&sleep, || {
        claim_and_be_interrupted(&sleep);
        false
    });
    Scripted::assert_done();
}
