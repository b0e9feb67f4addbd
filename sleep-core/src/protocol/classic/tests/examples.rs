//! The worked examples of rayon's first sleep module.

use super::super::*;
use crate::{index::UnknownWorker, testing::scripted::Scripted};

type Sleep = Classic<Inline<ClassicSlot<Scripted>, 3>>;

fn three_workers() -> Sleep {
    Classic::from_array(
        [const { ClassicSlot::new(Scripted) }; 3],
        IdlePolicy::IMMEDIATE,
    )
}

/// Calls a function while worker 2 is asleep, as far as others can see.
fn while_worker_2_is_asleep(sleep: &Sleep, then: impl FnOnce()) {
    let latch = CoreLatch::new();
    let mut idle = sleep.start_looking(sleep.worker(2).unwrap(), Purpose::Job);
    sleep.no_work_found(&mut idle, &latch, || unreachable!("only gets sleepy"));
    sleep.no_work_found(&mut idle, &latch, || {
        then();
        true
    });
    sleep.work_found(idle, || false);
}

fn get_sleepy(sleep: &Sleep, worker: usize) -> IdleState {
    let mut idle = sleep.start_looking(sleep.worker(worker).unwrap(), Purpose::Job);
    let latch = CoreLatch::new();
    sleep.no_work_found(&mut idle, &latch, || unreachable!("only gets sleepy"));
    idle
}

#[track_caller]
fn assert_state(sleep: &Sleep, word: usize, some_asleep: bool, sleepy_worker: Option<usize>) {
    let state = sleep.state();
    assert_eq!(state.word(), word);
    assert_eq!(
        (state.some_asleep(), state.sleepy_worker()),
        (some_asleep, sleepy_worker)
    );
    assert_eq!(sleep.all_are_awake(), word == 0);
}

#[test]
fn example_0_all_are_awake_and_none_is_sleepy() {
    let sleep = three_workers();
    assert_state(&sleep, 0, false, None);
}

#[test]
fn example_1_some_are_asleep_and_none_is_sleepy() {
    let sleep = &three_workers();
    while_worker_2_is_asleep(sleep, || {
        assert_state(sleep, 1, true, None);
        assert_eq!(sleep.num_sleeping(), 1);
        sleep.announce(NewJobs::injected(1, true));
        assert_state(sleep, 0, false, None);
        assert_eq!(sleep.num_sleeping(), 0, "the tickle woke it");
    });
    assert_state(sleep, 0, false, None);
}

#[test]
fn example_2_none_is_asleep_and_worker_0_is_sleepy() {
    let sleep = three_workers();
    let idle = get_sleepy(&sleep, 0);
    assert_state(&sleep, 2, false, Some(0));
    sleep.announce(NewJobs::internal(1, || unreachable!("is never asked")));
    assert_state(&sleep, 0, false, None);
    sleep.work_found(idle, || false);
}

#[test]
fn example_3_some_are_asleep_and_worker_0_is_sleepy() {
    let sleep = &three_workers();
    while_worker_2_is_asleep(sleep, || {
        let idle = get_sleepy(sleep, 0);
        assert_state(sleep, 3, true, Some(0));
        sleep.announce(NewJobs::internal(1, || unreachable!("is never asked")));
        assert_state(sleep, 0, false, None);
        assert_eq!(sleep.num_sleeping(), 0, "the tickle woke it");
        sleep.work_found(idle, || false);
    });
}

#[test]
fn a_worker_that_does_not_exist_is_a_typed_error() {
    let error = three_workers().worker(3).unwrap_err();
    let expected = UnknownWorker {
        index: 3,
        workers: 3,
    };
    assert_eq!(error, expected);
}

#[test]
fn debug_shows_the_state_in_words() {
    let sleep = three_workers();
    let idle = get_sleepy(&sleep, 1);
    assert_eq!(
        std::format!("{:?}", sleep.state()),
        "State { some_asleep: false, sleepy_worker: Some(1) }"
    );
    sleep.work_found(idle, || false);
}
