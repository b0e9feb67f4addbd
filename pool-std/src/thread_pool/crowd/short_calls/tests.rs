use super::*;

/// Plays one call that, at each of these times in microseconds, makes as many joins as there are
/// per look at the clock. Returns its last state.
fn play(calls: &ShortCalls, is_watched: bool, times: &[u64]) -> Call {
    let start = Instant::now();
    let ask = |call, time: &u64| {
        let now = || start + Duration::from_micros(*time);
        (0..JOINS_PER_LOOK).fold(call, |call, _| calls.next_state(call, is_watched, now))
    };
    times.iter().fold(calls.begin(), ask)
}

/// Plays all the calls that share their jobs at once before the next trial.
fn expect_short(calls: &ShortCalls) {
    for _ in 0..CALLS_BETWEEN_TRIALS {
        assert!(!calls.are_expected());
        assert_eq!(play(calls, true, &[0, 1]), Call::Wakes);
    }
    assert!(calls.are_expected());
}

#[test]
fn short_calls_delay_their_wake_ups_after_a_trial() {
    let calls = ShortCalls::new();
    expect_short(&calls);
    assert!(!calls.take_any_delayed());
    for _ in 0..1000 {
        assert!(matches!(play(&calls, true, &[0, 1, 9]), Call::Delays(..)));
    }
    assert!(calls.take_any_delayed());
    assert!(!calls.take_any_delayed());
}

#[test]
fn a_call_that_turns_out_long_wakes_workers_and_so_do_the_next_ones() {
    let calls = ShortCalls::new();
    expect_short(&calls);
    assert_eq!(play(&calls, true, &[0, 9, 10]), Call::Wakes);
    expect_short(&calls);
}

#[test]
fn a_call_that_no_worker_watches_wakes_workers() {
    let calls = ShortCalls::new();
    expect_short(&calls);
    assert_eq!(play(&calls, false, &[0, 1]), Call::Begun);
    assert!(calls.are_expected(), "a worker that sleeps takes the watch");
    // The watch ends in the middle of a call.
    let call @ Call::Delays(start, _) = play(&calls, true, &[0]) else {
        panic!("it delays")
    };
    let call = calls.next_state(call, false, || start);
    assert_eq!(call, Call::Wakes);
}

#[test]
fn a_worker_on_its_own_thread_delays_nothing() {
    let calls = ShortCalls::new();
    expect_short(&calls);
    assert!(!calls.delay_wake(|| true));
    CALL.set(Call::Begun);
    assert!(calls.delay_wake(|| true));
    CALL.set(Call::None);
}

#[test]
fn a_call_within_a_call_is_a_part_of_it() {
    let pool = crate::ThreadPoolBuilder::new()
        .num_threads(2)
        .build()
        .unwrap();
    while pool.registry.num_sleeping() < 2 {
        std::thread::yield_now();
    }
    let states = pool.call(|| {
        let is_guest = CALL.get() == Call::Begun;
        CALL.set(Call::Wakes);
        let states = [pool.call(|| CALL.get()), CALL.get()];
        is_guest.then_some(states)
    });
    // A worker that has just been woken leaves no seat for a guest.
    assert!(states.is_none_or(|states| states == [Call::Wakes; 2]));
    assert_eq!(CALL.get(), Call::None);
}

/// A thief that finds that such a call takes long reports it.
#[test]
fn a_call_that_thieves_find_long_is_followed_by_calls_that_share_at_once() {
    let pool = crate::ThreadPoolBuilder::new()
        .num_threads(2)
        .build()
        .unwrap();
    let crowd = pool.registry.data().crowd.as_ref().unwrap();
    // Liveness: a worker that has just run a job searches for as long as many calls take to begin.
    // If it falls asleep before it meets the call, or is woken for it, it searches again in the
    // next round.
    loop {
        pool.install(|| ());
        crowd.short_calls.expect_short();
        let has_not_delayed = pool.call(|| {
            let half = || std::thread::sleep(Duration::from_micros(50));
            crate::join(half, || ());
            CALL.get() == Call::Begun
        });
        if has_not_delayed && !crowd.short_calls.are_expected() {
            break;
        }
    }
}
