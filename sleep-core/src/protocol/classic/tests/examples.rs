//! The worked examples of seed 001, in words of every width, and the sizes of the words.

use std::vec::Vec;

use super::super::*;
use crate::{index::UnknownWorker, testing::scripted::Scripted};

type Sleep<W> = Classic<Inline<ClassicSlot<Scripted>, 3>, W>;

fn three_workers<W: Word>() -> Sleep<W> {
    Classic::from_array(
        [const { ClassicSlot::new(Scripted) }; 3],
        IdlePolicy::IMMEDIATE,
    )
}

/// Calls a function while worker 2 is asleep, as far as others can see.
fn while_worker_2_is_asleep<W: Word>(sleep: &Sleep<W>, then: impl FnOnce()) {
    let latch = CoreLatch::new();
    let mut idle = sleep.start_looking(sleep.worker(2).unwrap(), Purpose::Job);
    sleep.no_work_found(&mut idle, &latch, || unreachable!("only gets sleepy"));
    sleep.no_work_found(&mut idle, &latch, || {
        then();
        true
    });
    sleep.work_found(idle, || false);
}

fn get_sleepy<W: Word>(sleep: &Sleep<W>, worker: usize) -> IdleState {
    let mut idle = sleep.start_looking(sleep.worker(worker).unwrap(), Purpose::Job);
    let latch = CoreLatch::new();
    sleep.no_work_found(&mut idle, &latch, || unreachable!("only gets sleepy"));
    idle
}

#[track_caller]
fn assert_state<W: Word>(
    sleep: &Sleep<W>,
    word: usize,
    some_asleep: bool,
    sleepy_worker: Option<usize>,
) {
    let state = sleep.state();
    assert_eq!(state.word(), word);
    assert_eq!(
        (state.some_asleep(), state.sleepy_worker()),
        (some_asleep, sleepy_worker)
    );
    assert_eq!(sleep.all_are_awake(), word == 0);
}

/// Instantiates a test for each width of the word.
macro_rules! each_width {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                widths::$name::<u16>();
                widths::$name::<u32>();
                widths::$name::<usize>();
            }
        )*
    };
}

each_width! {
    example_0_all_are_awake_and_none_is_sleepy
    example_1_some_are_asleep_and_none_is_sleepy
    example_2_none_is_asleep_and_worker_0_is_sleepy
    example_3_some_are_asleep_and_worker_0_is_sleepy
}

mod widths {
    use super::*;

    pub(super) fn example_0_all_are_awake_and_none_is_sleepy<W: Word>() {
        let sleep = three_workers::<W>();
        assert_state(&sleep, 0, false, None);
    }

    pub(super) fn example_1_some_are_asleep_and_none_is_sleepy<W: Word>() {
        let sleep = &three_workers::<W>();
        while_worker_2_is_asleep(sleep, || {
            assert_state(sleep, 1, true, None);
            assert_eq!(sleep.num_sleeping(), 1);
            sleep.announce(NewJobs::injected(1, true));
            assert_state(sleep, 0, false, None);
            assert_eq!(sleep.num_sleeping(), 0, "the tickle woke it");
        });
        assert_state(sleep, 0, false, None);
    }

    pub(super) fn example_2_none_is_asleep_and_worker_0_is_sleepy<W: Word>() {
        let sleep = three_workers::<W>();
        let idle = get_sleepy(&sleep, 0);
        assert_state(&sleep, 2, false, Some(0));
        sleep.announce(NewJobs::internal(1, || unreachable!("is never asked")));
        assert_state(&sleep, 0, false, None);
        sleep.work_found(idle, || false);
    }

    pub(super) fn example_3_some_are_asleep_and_worker_0_is_sleepy<W: Word>() {
        let sleep = &three_workers::<W>();
        while_worker_2_is_asleep(sleep, || {
            let idle = get_sleepy(sleep, 0);
            assert_state(sleep, 3, true, Some(0));
            sleep.announce(NewJobs::internal(1, || unreachable!("is never asked")));
            assert_state(sleep, 0, false, None);
            assert_eq!(sleep.num_sleeping(), 0, "the tickle woke it");
            sleep.work_found(idle, || false);
        });
    }
}

/// Only the narrowest word names so few workers that there can be slots for all of them.
#[test]
#[cfg_attr(miri, ignore = "32,768 slots")]
fn the_last_worker_has_a_name_and_one_more_is_a_typed_error() {
    let maximum = u16::MAX_WORKERS;
    let too_many = maximum + 1;
    let slots: Vec<_> = (0..too_many).map(|_| ClassicSlot::new(Scripted)).collect();
    let error = Classic::<_, u16>::from_slice(&slots, IdlePolicy::IMMEDIATE).unwrap_err();
    assert_eq!((error.requested, error.maximum), (too_many, maximum));

    let sleep = Classic::<_, u16>::from_slice(&slots[1..], IdlePolicy::IMMEDIATE).unwrap();
    let last = sleep.worker(maximum - 1).unwrap();
    let mut idle = sleep.start_looking(last, Purpose::Job);
    sleep.no_work_found(&mut idle, &CoreLatch::new(), || unreachable!());
    assert_eq!(sleep.state().sleepy_worker(), Some(maximum - 1));
    assert!(!sleep.state().some_asleep());
    sleep.work_found(idle, || false);
    assert!(sleep.all_are_awake());

    let error = Classic::<_, u16>::new(slots, IdlePolicy::IMMEDIATE).unwrap_err();
    assert_eq!((error.requested, error.maximum), (too_many, maximum));
}

#[test]
fn words_name_half_as_many_workers_as_they_have_values() {
    assert_eq!(u16::MAX_WORKERS, 32_767);
    assert_eq!(u32::MAX_WORKERS, 2_147_483_647);
    assert_eq!(usize::MAX_WORKERS, usize::MAX / 2);
}

#[test]
fn a_worker_that_does_not_exist_is_a_typed_error() {
    let error = three_workers::<u16>().worker(3).unwrap_err();
    let expected = UnknownWorker {
        index: 3,
        workers: 3,
    };
    assert_eq!(error, expected);
}

#[test]
fn debug_shows_the_state_in_words() {
    let sleep = three_workers::<u16>();
    let idle = get_sleepy(&sleep, 1);
    assert_eq!(
        std::format!("{:?}", sleep.state()),
        "State { some_asleep: false, sleepy_worker: Some(1) }"
    );
    sleep.work_found(idle, || false);
}
