//! What a worker learns from its sleeps.

use super::*;

#[test]
fn sleeps_decide_how_many_rounds_follow() {
    let (history, clock) = (History::new(), Clock::new());
    let slept = |microseconds| sleep(&ADAPTIVE, &history, &clock, microseconds);
    // As long as the rounds may last, so that rounds would have found the work.
    let growing: [u32; 8] = core::array::from_fn(|_| slept(20));
    assert_eq!(growing, [1, 2, 4, 8, 16, 32, 64, 64]);
    // Longer.
    let shrinking: [u32; 5] = core::array::from_fn(|_| slept(21));
    assert_eq!(shrinking, [64, 16, 4, 1, 1]);
}

#[test]
fn the_longer_a_sleep_the_fewer_rounds_follow() {
    for (microseconds, rounds) in [
        (20, 64),
        (21, 16),
        (40, 16),
        (41, 8),
        (80, 8),
        (81, 4),
        (1_000, 1),
        (1_000_000_000, 1),
    ] {
        let (history, clock) = (best(), Clock::new());
        assert_eq!(sleep(&ADAPTIVE, &history, &clock, microseconds), 64);
        assert_eq!(
            sleep(&ADAPTIVE, &history, &clock, 0),
            rounds,
            "{microseconds}"
        );
    }
}

#[test]
fn waits_and_searches_for_the_next_job_are_learned_apart() {
    let (history, clock) = (History::new(), Clock::new());
    let sleep =
        |purpose, microseconds| sleep_for(purpose, &ADAPTIVE, &history, &clock, microseconds);
    // Of a worker with long pauses between its jobs, whose waits are short.
    for rounds in [1, 2, 4, 8, 16, 32, 64] {
        assert_eq!(sleep(Purpose::Job, 1_000), 1);
        assert_eq!(sleep(Purpose::Wait, 5), rounds);
    }
    assert!(!history.spend_credit());
    // And the other way round.
    for rounds in [1, 2, 4, 8, 16, 32, 64] {
        assert_eq!(sleep(Purpose::Job, 5), rounds);
        sleep(Purpose::Wait, 1_000);
    }
    assert_eq!(sleep(Purpose::Wait, 1_000), 1);
    // A round that finds work counts for its purpose alone.
    let mut wait = Search::new(Purpose::Wait, true);
    assert!(relaxes(&mut wait, &ADAPTIVE, &history, &clock));
    wait.end(&ADAPTIVE, &history);
    assert_eq!(sleep(Purpose::Wait, 5), 2);
    assert_eq!(sleep(Purpose::Job, 5), 64);
}

#[test]
fn a_short_sleep_gives_credit_for_some_searches() {
    let (history, clock) = (History::new(), Clock::new());
    let credit = || (0..99).take_while(|_| history.spend_credit()).count();
    assert_eq!(credit(), 0);
    for _ in 0..2 {
        sleep(&ADAPTIVE, &history, &clock, 20);
        assert_eq!(credit(), 15);
        assert_eq!(credit(), 0);
    }
    // A long sleep ends it.
    sleep(&ADAPTIVE, &history, &clock, 20);
    assert!(history.spend_credit());
    sleep(&ADAPTIVE, &history, &clock, 21);
    assert_eq!(credit(), 0);
    // These give none: a long sleep, a sleep whose length is not known, and rounds that find work.
    sleep(&ADAPTIVE, &history, &clock, 21);
    let mut search = Search::new(Purpose::Job, true);
    search.note_slept(&ADAPTIVE, &history, &WakeTime::new(), &Clock(None));
    let mut search = Search::new(Purpose::Job, true);
    assert!(relaxes(&mut search, &ADAPTIVE, &history, &clock));
    search.end(&ADAPTIVE, &history);
    assert_eq!(credit(), 0);
}

#[test]
fn a_history_stays_within_its_bounds() {
    let history = History::new();
    let most = IdlePolicy::new(u32::MAX, u32::MAX, Relax::Yield).with_adaptive_rounds(true);
    for (purpose, other) in [(Purpose::Job, Purpose::Wait), (Purpose::Wait, Purpose::Job)] {
        for _ in 0..300 {
            history.record_success(purpose);
        }
        assert_eq!(history.rounds(purpose, &most), u32::MAX);
        assert_eq!(history.rounds(other, &most), u32::MAX / 64);
        for time in [None, Some(1), Some(u32::MAX)] {
            (0..300).for_each(|_| history.record_sleep(purpose, time, 0));
            assert_eq!(history.rounds(purpose, &most), u32::MAX / 64);
        }
        assert_eq!(history.rounds(purpose, &IdlePolicy::POWER), 0);
    }
    // A policy without adaptive rounds does not ask it.
    let fixed = IdlePolicy::new(7, 8, Relax::Yield);
    assert_eq!(history.rounds(Purpose::Job, &fixed), 7);
}
