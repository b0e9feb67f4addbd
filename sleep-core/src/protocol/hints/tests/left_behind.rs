//! Registrations and counts that do not agree for a moment: a worker leaves while a notifier holds
//! its unit.

use super::{
    steps::{assert_at_rest, sleep_while, start, turn_back, workers},
    *,
};
use crate::{protocol::hints::slot::Entry, testing::scripted::Scripted};

/// A notifier has taken the worker's unit and is interrupted before it looks for a worker. The
/// worker leaves with work; the notifier discards its registration, and wakes the sleeper in its
/// place.
#[test]
fn a_registration_left_behind_is_discarded() {
    let sleep = workers();
    let mut leaver = start(&sleep, 0);
    turn_back(&sleep, &mut leaver);
    assert_eq!(sleep.sleepers.take(1), 1);
    sleep.work_found(leaver, || unreachable!("no worker sleeps"));
    let mut sleeper = start(&sleep, 1);
    sleep_while(&sleep, &mut sleeper, |sleep| {
        let stale = sleep.spend(1, Hint::Unknown);
        assert_eq!((stale, sleep.num_sleeping()), (1, 1));
        sleep.notify(stale, Hint::Unknown);
        assert_eq!(sleep.num_sleeping(), 0);
    });
    sleep.work_found(sleeper, || false);
    assert_at_rest(&sleep, 0);
}

/// A notifier takes the unit of one of two sleepers and finds a registration that was left behind
/// first. A second notifier, interrupted, still holds the unit of that one. The first one must wake
/// a sleeper all the same.
#[test]
fn a_notification_is_not_spent_on_a_registration_left_behind() {
    let sleep = workers::<3>();
    let mut leaver = start(&sleep, 0);
    turn_back(&sleep, &mut leaver);
    assert_eq!(sleep.sleepers.take(1), 1);
    sleep.work_found(leaver, || unreachable!("no worker sleeps"));
    let mut first = start(&sleep, 1);
    let others = sleep.clone();
    Scripted::prepare(move || {
        let mut second = start(&others, 2);
        let notifiers = others.clone();
        Scripted::prepare(move || {
            notifiers.announce(NewJobs::injected(1, true));
            assert_eq!((notifiers.sleepers(), notifiers.num_sleeping()), (0, 1));
            assert_eq!(notifiers.spend(1, Hint::Unknown), 0);
        });
        others.no_work_found(&mut second, &CoreLatch::new(), || false);
        others.work_found(second, || false);
    });
    sleep.no_work_found(&mut first, &CoreLatch::new(), || false);
    Scripted::assert_done();
    sleep.work_found(first, || false);
    assert_at_rest(&sleep, 0);
}

/// As before, but the worker sleeps again before the notifier goes on: its registration is good
/// again.
#[test]
fn a_registration_left_behind_serves_the_next_sleep() {
    let sleep = workers();
    let mut leaver = start(&sleep, 0);
    turn_back(&sleep, &mut leaver);
    assert_eq!(sleep.sleepers.take(1), 1);
    sleep.work_found(leaver, || unreachable!("no worker sleeps"));
    let mut sleeper = start(&sleep, 0);
    let hint = sleep_while(&sleep, &mut sleeper, |sleep| {
        assert_eq!((sleep.sleepers(), sleep.num_sleeping()), (0, 1));
        assert_eq!(sleep.spend(1, Hint::Injector), 0);
    });
    assert_eq!(hint, Hint::Injector);
    sleep.work_found(sleeper, || false);
    assert_at_rest(&sleep, 0);
}

#[test]
fn a_notification_that_was_spent_in_vain_waits() {
    let sleep = workers();
    let mut leaver = start(&sleep, 0);
    turn_back(&sleep, &mut leaver);
    assert_eq!(sleep.sleepers.take(1), 1, "a slow notifier");
    sleep.work_found(leaver, || false);
    let mut idle = start(&sleep, 1);
    sleep_while(&sleep, &mut idle, |sleep| {
        sleep.notify_anywhere(1, Hint::Unknown);
        assert_eq!((sleep.sleepers(), sleep.num_sleeping()), (-1, 1));
        assert_eq!(
            sleep.spend(1, Hint::Unknown),
            0,
            "the slow notifier goes on"
        );
    });
    sleep.work_found(idle, || false);
    assert_at_rest(&sleep, 1);
}

#[test]
fn a_count_without_a_sleeper_is_mended_by_the_next_notification() {
    let sleep = workers::<2>();
    let mut leaver = start(&sleep, 1);
    turn_back(&sleep, &mut leaver);
    // A worker that has opened its slot, is claimed, and counts itself when the other one has left.
    let slot = &sleep.slots()[0];
    assert_eq!(slot.enter(), Entry::New);
    sleep.notify(1, Hint::Unknown);
    sleep.work_found(leaver, || false);
    assert!(sleep.sleepers.register());
    assert!(slot.receive_notification());
    assert_eq!((sleep.sleepers(), sleep.num_sleeping()), (1, 0));
    sleep.notify(1, Hint::Unknown);
    assert_at_rest(&sleep, 0);
}
