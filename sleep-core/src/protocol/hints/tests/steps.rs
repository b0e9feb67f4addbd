//! Steps of the protocol one by one, in one thread: what other threads do at a certain step is done
//! in the look at the queues, or in `park`.

use std::{boxed::Box, cell::Cell, rc::Rc};

use super::*;
use crate::{
    index::UnknownWorker,
    parker::Parker,
    policy::Relax,
    set_latch,
    testing::scripted::{Scripted, searches_until_last_look},
};

pub(super) type Channel = ArrayChannel<Scripted, 2>;
pub(super) type Workers<const N: usize> = Hints<Inline<HintSlot<Channel>, N>>;

pub(super) fn workers<const N: usize>() -> Rc<Workers<N>> {
    let slots = [const { HintSlot::new(Channel::new(Scripted)) }; N];
    Rc::new(Hints::from_array(slots, IdlePolicy::IMMEDIATE))
}

pub(super) fn start<const N: usize>(sleep: &Workers<N>, index: usize) -> IdleState {
    sleep.start_looking(sleep.worker(index).unwrap(), Purpose::Job)
}

/// Lets a worker register and turn back because it sees work.
pub(super) fn turn_back<const N: usize>(sleep: &Workers<N>, idle: &mut IdleState) {
    sleep.no_work_found(idle, &CoreLatch::new(), || true);
}

/// Sleeps, and calls a closure as another thread while the worker is parked. It must wake the
/// worker.
pub(super) fn sleep_while(
    sleep: &Rc<Workers<2>>,
    idle: &mut IdleState,
    other: impl FnOnce(&Workers<2>) + 'static,
) -> Hint {
    let others = sleep.clone();
    Scripted::prepare(move || other(&others));
    let hint = sleep.no_work_found(idle, &CoreLatch::new(), || false);
    Scripted::assert_done();
    hint
}

pub(super) fn assert_at_rest<const N: usize>(sleep: &Workers<N>, notifications: isize) {
    assert_eq!(sleep.sleepers(), -notifications);
    assert_eq!((sleep.num_inactive(), sleep.num_sleeping()), (0, 0));
    let registered = |slot: &&HintSlot<Channel>| slot.claim().is_some();
    assert_eq!(sleep.slots().iter().filter(registered).count(), 0);
}

#[test]
fn a_notification_wakes_a_sleeper_with_its_hint() {
    let sleep = workers();
    let mut idle = start(&sleep, 0);
    let hint = sleep_while(&sleep, &mut idle, |sleep| {
        assert_eq!((sleep.sleepers(), sleep.num_sleeping()), (1, 1));
        assert!(!sleep.all_are_awake());
        sleep.notify(3, Hint::Worker(1));
        assert_eq!((sleep.sleepers(), sleep.num_sleeping()), (0, 0));
        assert!(sleep.all_are_awake());
    });
    assert_eq!(hint, Hint::Worker(1));
    sleep.work_found(idle, || unreachable!("no worker sleeps"));
    assert_at_rest(&sleep, 0);
}

#[test]
fn both_kinds_of_jobs_carry_their_hints() {
    let sleep = workers();
    let mut idle = start(&sleep, 0);
    let hint = sleep_while(&sleep, &mut idle, |sleep| {
        sleep.announce(NewJobs::injected(1, true).at(Hint::Injector));
    });
    assert_eq!(hint, Hint::Injector);
    let hint = sleep_while(&sleep, &mut idle, |sleep| {
        sleep.announce(NewJobs::internal(1, || true).at(Hint::Worker(1)));
    });
    assert_eq!(hint, Hint::Worker(1));
    let hint = sleep_while(&sleep, &mut idle, |sleep| {
        sleep.announce(NewJobs::internal(1, || true));
    });
    assert_eq!(hint, Hint::Unknown);
    sleep.work_found(idle, || false);
    assert_at_rest(&sleep, 0);
}

/// A hint that an earlier notifier sent late is in the channel before the one that counts.
#[test]
fn the_newest_hint_counts() {
    let sleep = workers();
    let mut idle = start(&sleep, 0);
    sleep.slots()[0].channel().send(Hint::Injector).unwrap();
    let hint = sleep_while(&sleep, &mut idle, |sleep| sleep.notify(1, Hint::Worker(1)));
    assert_eq!(hint, Hint::Worker(1));
    sleep.work_found(idle, || false);
    assert_eq!(sleep.slots()[0].channel().receive(), None);
}

#[test]
fn a_jammed_channel_drops_the_hint_and_wakes_the_worker() {
    let sleep = workers();
    let mut idle = start(&sleep, 0);
    sleep.slots()[0].channel().jam();
    let hint = sleep_while(&sleep, &mut idle, |sleep| sleep.notify(1, Hint::Worker(1)));
    assert_eq!(hint, Hint::Unknown, "of the jam");
    sleep.work_found(idle, || false);
    assert_at_rest(&sleep, 0);
}

/// Counts how often it is unparked.
struct Counted(Cell<usize>);

impl Parker for Counted {
    fn park(&self) {
        unreachable!("this worker must not park");
    }

    fn unpark(&self) {
        self.0.set(self.0.get() + 1);
    }
}

#[test]
fn a_worker_is_unparked_once_whether_its_channel_has_room_or_not() {
    for is_jammed in [false, true] {
        let channel = ArrayChannel::<_, 1>::new(Counted(Cell::new(0)));
        let sleep = Hints::from_array([HintSlot::new(channel)], IdlePolicy::IMMEDIATE);
        let channel = sleep.slots()[0].channel();
        if is_jammed {
            channel.jam();
        }
        let mut idle = sleep.start_looking(sleep.worker(0).unwrap(), Purpose::Job);
        sleep.no_work_found(&mut idle, &CoreLatch::new(), || {
            sleep.notify(1, Hint::Injector);
            false
        });
        assert_eq!(channel.parker().0.get(), 1);
        sleep.work_found(idle, || false);
    }
}

#[test]
fn a_notification_before_its_sleeper_keeps_it_awake_once() {
    let sleep = workers::<2>();
    sleep.notify_anywhere(1, Hint::Unknown);
    assert_eq!(sleep.sleepers(), -1);
    let mut idle = start(&sleep, 0);
    let latch = CoreLatch::new();
    sleep.no_work_found(&mut idle, &latch, || unreachable!("a notification waits"));
    assert_eq!((sleep.sleepers(), sleep.num_sleeping()), (0, 0));
    let mut looks = 0;
    sleep.no_work_found(&mut idle, &latch, || {
        looks += 1;
        true
    });
    assert_eq!(looks, 1, "it waits no longer");
    sleep.work_found(idle, || false);
    assert_at_rest(&sleep, 0);
}

#[test]
fn no_more_notifications_wait_than_there_are_workers() {
    let sleep = workers::<2>();
    for count in [1, 5, usize::MAX] {
        sleep.notify_anywhere(count, Hint::Unknown);
    }
    assert_at_rest(&sleep, 2);
    sleep.notify(usize::MAX, Hint::Unknown);
    assert_at_rest(&sleep, 2);
}

#[test]
fn a_notification_from_inside_waits_for_no_sleeper() {
    let sleep = workers::<2>();
    sleep.notify(2, Hint::Unknown);
    assert_at_rest(&sleep, 0);
}

/// A worker that sees work stays registered while it searches on, and does not count itself again.
#[test]
fn a_worker_in_flight_is_counted_once() {
    let sleep = workers::<2>();
    let mut idle = start(&sleep, 0);
    for _ in 0..3 {
        turn_back(&sleep, &mut idle);
        assert_eq!((sleep.sleepers(), sleep.num_sleeping()), (1, 0));
    }
    sleep.work_found(idle, || unreachable!("it withdraws, and no worker sleeps"));
    assert_at_rest(&sleep, 0);
}

/// A worker that is woken by its latch stays registered too, and sleeps again without counting
/// itself.
#[test]
fn a_worker_that_was_poked_is_counted_once() {
    let sleep = workers();
    let mut idle = start(&sleep, 0);
    for _ in 0..3 {
        let hint = sleep_while(&sleep, &mut idle, |sleep| {
            assert!(sleep.wake_worker(sleep.worker(0).unwrap()));
            assert!(!sleep.wake_worker(sleep.worker(0).unwrap()), "once");
            assert_eq!((sleep.sleepers(), sleep.num_sleeping()), (1, 0));
        });
        assert_eq!(hint, Hint::Unknown);
    }
    sleep.work_found(idle, || false);
    assert_at_rest(&sleep, 0);
}

#[test]
fn a_notification_in_flight_makes_the_worker_search_again() {
    let sleep = workers::<2>();
    let mut idle = start(&sleep, 0);
    turn_back(&sleep, &mut idle);
    sleep.notify(1, Hint::Unknown);
    assert_eq!(sleep.sleepers(), 0);
    let latch = CoreLatch::new();
    sleep.no_work_found(&mut idle, &latch, || unreachable!("it was notified"));
    sleep.work_found(idle, || false);
    assert_at_rest(&sleep, 0);
}

/// The worker that is notified is awake and leaves with another job. It asks whether there is more,
/// and wakes the sleeper for it.
#[test]
fn a_worker_that_leaves_passes_its_notification_on() {
    let sleep = workers();
    let mut leaver = start(&sleep, 0);
    turn_back(&sleep, &mut leaver);
    let mut sleeper = start(&sleep, 1);
    sleep_while(&sleep, &mut sleeper, move |sleep| {
        sleep.notify(1, Hint::Unknown);
        assert_eq!((sleep.sleepers(), sleep.num_sleeping()), (1, 1));
        sleep.work_found(leaver, || true);
        assert_eq!((sleep.sleepers(), sleep.num_sleeping()), (0, 0));
    });
    sleep.work_found(sleeper, || false);
    assert_at_rest(&sleep, 0);
}

#[test]
fn a_worker_that_finds_the_only_work_wakes_none() {
    let sleep = workers();
    let finder = start(&sleep, 0);
    let mut sleeper = start(&sleep, 1);
    sleep_while(&sleep, &mut sleeper, move |sleep| {
        sleep.work_found(finder, || false);
        assert_eq!((sleep.sleepers(), sleep.num_sleeping()), (1, 1));
        sleep.notify(1, Hint::Unknown);
    });
    sleep.work_found(sleeper, || false);
    assert_at_rest(&sleep, 0);
}

/// The notification has taken the worker's unit. If the worker withdrew when it leaves, it would
/// take the unit of the one that sleeps, and wake it for nothing.
#[test]
fn a_worker_that_was_notified_does_not_withdraw() {
    let sleep = workers();
    let mut notified = start(&sleep, 0);
    sleep_while(&sleep, &mut notified, |sleep| {
        sleep.notify(1, Hint::Unknown)
    });
    let mut sleeper = start(&sleep, 1);
    sleep_while(&sleep, &mut sleeper, move |sleep| {
        sleep.work_found(notified, || false);
        assert_eq!((sleep.sleepers(), sleep.num_sleeping()), (1, 1));
        sleep.notify(1, Hint::Unknown);
    });
    sleep.work_found(sleeper, || false);
    assert_at_rest(&sleep, 0);
}

/// A latch that stayed sleepy would keep the worker from each later sleep.
#[test]
fn a_worker_that_turns_back_or_wakes_up_sleeps_again_for_the_same_latch() {
    let sleep = workers::<2>();
    let mut idle = start(&sleep, 0);
    let latch = CoreLatch::new();
    sleep.no_work_found(&mut idle, &latch, || true);
    for _ in 0..2 {
        let others = sleep.clone();
        Scripted::prepare(move || others.notify(1, Hint::Unknown));
        sleep.no_work_found(&mut idle, &latch, || false);
        Scripted::assert_done();
    }
    sleep.work_found(idle, || false);
    assert_at_rest(&sleep, 0);
}

#[test]
fn a_set_latch_keeps_the_worker_awake() {
    let sleep = workers::<1>();
    let latch = CoreLatch::new();
    let worker = sleep.worker(0).unwrap();
    let mut idle = sleep.start_looking(worker, Purpose::Job);
    // SAFETY: 1. to 3. all of them live in this frame, and the only worker is this thread; 4. it
    // waits for this.
    unsafe { set_latch(&*sleep, &latch, worker) };
    sleep.no_work_found(&mut idle, &latch, || unreachable!("the latch is set"));
    assert_eq!(sleep.sleepers(), 0);
    sleep.work_found(idle, || false);
    assert_at_rest(&sleep, 0);
}

/// Sets the latch, or notifies the worker, just after it has registered.
#[test]
fn a_wake_before_the_park_is_not_lost() {
    let sleep = workers::<2>();
    let worker = sleep.worker(1).unwrap();
    for by_latch in [true, false] {
        let latch = CoreLatch::new();
        let mut idle = sleep.start_looking(worker, Purpose::Job);
        sleep.no_work_found(&mut idle, &latch, || {
            if by_latch {
                // SAFETY: 1. to 3. all of them live in this frame; 4. no frame ends with it.
                unsafe { set_latch(&*sleep, &latch, worker) };
            } else {
                sleep.notify(2, Hint::Unknown);
            }
            false
        });
        assert_eq!(latch.probe(), by_latch);
        sleep.work_found(idle, || false);
        assert_at_rest(&sleep, 0);
    }
}

/// A worker that turns back has its sleepy rounds once more, since its last look has seen work.
#[test]
fn a_worker_relaxes_as_often_as_the_policy_says() {
    for (sleepy, sleeping) in [(0, 0), (3, 10), (4, 2)] {
        let policy = IdlePolicy::new(sleepy, sleeping, Relax::Spin(1));
        let slots = [HintSlot::new(Channel::new(Scripted))];
        let sleep = Hints::new(&slots[..], policy).unwrap();
        let mut idle = sleep.start_looking(sleep.worker(0).unwrap(), Purpose::Job);
        let mut searches = || searches_until_last_look(&sleep, &mut idle, true);
        assert_eq!(searches(), sleepy.max(sleeping) + 1);
        assert_eq!(searches(), sleeping.saturating_sub(sleepy) + 1);
        sleep.work_found(idle, || false);
    }
}

#[test]
#[cfg_attr(miri, ignore = "65,536 slots")]
fn bad_sizes_and_indices_are_typed_errors() {
    let slots: Box<[_]> = (0..=MAX_WORKERS)
        .map(|_| HintSlot::new(Channel::new(Scripted)))
        .collect();
    let expected = TooManyWorkers {
        requested: 65_536,
        maximum: 65_535,
    };
    let error = Hints::<_>::new(slots, IdlePolicy::DEFAULT);
    assert_eq!(error.unwrap_err(), expected);
    let error = workers::<2>().worker(2);
    assert_eq!(
        error.unwrap_err(),
        UnknownWorker {
            index: 2,
            workers: 2
        }
    );
}

#[test]
fn an_attempt_that_panicked_is_counted_once() {
    let sleep = workers::<1>();
    let mut idle = start(&sleep, 0);
    let look = || panic!("the look at the queues panics");
    let attempt = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        sleep.no_work_found(&mut idle, &CoreLatch::new(), look);
    }));
    assert!(attempt.is_err());
    turn_back(&sleep, &mut idle);
    assert_eq!(sleep.sleepers(), 1);
    sleep.work_found(idle, || false);
    assert_at_rest(&sleep, 0);
}
