//! Numbers and a stopwatch that one thread writes and others read.

use std::{
    sync::atomic::{AtomicBool, Ordering::SeqCst},
    thread,
    time::Duration,
};

use super::super::{
    counter::{Counter, SplitCounter},
    stopwatch::{SHORT_STAY, Stopwatch, UNTIMED_GUESTS, WorkerState, WorkerTimes},
};
use crate::{Event, Observer as _, SearchEnd, WokenBy, WorkerCounters, testing::NOW};

const ROUNDS: u64 = if cfg!(miri) { 200 } else { 100_000 };

/// Both kinds of counter.
macro_rules! both {
    ($counter:ident => $body:block) => {{
        {
            let $counter = Counter::new();
            $body
        }
        {
            let $counter = SplitCounter::new();
            $body
        }
    }};
}

#[test]
fn counts_across_the_halves() {
    both!(counter => {
        counter.set(u64::from(u32::MAX) - 1);
        let values = [1, 1, 1, 1 << 33].map(|amount| {
            counter.add(amount);
            counter.get()
        });
        let carry = 1 << 32;
        assert_eq!(values, [carry - 1, carry, carry + 1, 3 * carry + 1]);
    });
}

/// Each step carries into the high half, or is about to.
#[test]
fn a_reader_sees_numbers_that_grow() {
    both!(counter => {
        let is_done = AtomicBool::new(false);
        thread::scope(|threads| {
            threads.spawn(|| {
                let mut last = 0;
                while !is_done.load(SeqCst) {
                    let now = counter.get();
                    assert!(last <= now, "{last:#x} and then {now:#x}");
                    last = now;
                }
            });
            for _ in 0..ROUNDS {
                counter.add((1 << 31) + 1);
            }
            is_done.store(true, SeqCst);
        });
        assert_eq!(counter.get(), ROUNDS * ((1 << 31) + 1));
    });
}

fn at(nanoseconds: u64) -> fn() -> Option<u64> {
    NOW.set(Some(nanoseconds));
    || NOW.get()
}

fn times(active: u64, idle: u64, asleep: u64) -> Option<WorkerTimes> {
    let [active, idle, asleep] = [active, idle, asleep].map(Duration::from_nanos);
    Some(WorkerTimes {
        active,
        idle,
        asleep,
    })
}

#[test]
fn only_the_current_state_takes_time() {
    let stopwatch = Stopwatch::new();
    assert_eq!(stopwatch.read(at(5)), (WorkerState::Absent, None));
    stopwatch.switch(WorkerState::Active, at(10));
    assert_eq!(
        stopwatch.read(at(11)),
        (WorkerState::Active, times(1, 0, 0))
    );
    stopwatch.switch(WorkerState::Idle, at(13));
    assert_eq!(stopwatch.read(at(20)), (WorkerState::Idle, times(3, 7, 0)));
    stopwatch.switch(WorkerState::Asleep, at(20));
    assert_eq!(
        stopwatch.read(at(120)),
        (WorkerState::Asleep, times(3, 7, 100))
    );
    stopwatch.switch(WorkerState::Absent, at(120));
    assert_eq!(
        stopwatch.read(at(1_000)),
        (WorkerState::Absent, times(3, 7, 100))
    );
    stopwatch.switch(WorkerState::Active, at(2_000));
    assert_eq!(
        stopwatch.read(at(2_001)),
        (WorkerState::Active, times(4, 7, 100))
    );
}

/// It is on its way to a job.
#[test]
fn a_worker_that_was_woken_does_not_read_the_clock() {
    let counters = WorkerCounters::new();
    counters.observe(Event::Sleep, at(10));
    counters.observe(Event::Wake(WokenBy::UNKNOWN), || {
        unreachable!("the job would wait for the clock")
    });
    let look = counters.snapshot(at(15)).unwrap();
    assert_eq!((look.state, look.counts.wakes), (WorkerState::Asleep, 1));
    counters.observe(Event::Active(SearchEnd::Job), at(30));
    assert_eq!(counters.snapshot(at(30)).unwrap().times, times(0, 0, 20));
}

fn state_and_times(counters: &WorkerCounters, now: u64) -> (WorkerState, Option<WorkerTimes>) {
    let look = counters.snapshot(at(now)).unwrap();
    (look.state, look.times)
}

/// A call that takes a tenth of a microsecond cannot pay for two looks at the clock.
#[test]
fn a_guest_after_a_short_one_does_not_read_the_clock() {
    let counters = WorkerCounters::new();
    let no_clock = || unreachable!("the call would wait for the clock");
    let look = |now| state_and_times(&counters, now);
    counters.observe(Event::Sleep, at(10));
    for round in 0..3 {
        let start = 20 * round;
        counters.observe(Event::GuestArrived, at(start + 15));
        counters.observe(Event::GuestLeft, at(start + 20));
        for _ in 0..UNTIMED_GUESTS {
            counters.observe(Event::GuestArrived, no_clock);
            let (state, now) = (look(start + 25), times(5 * (round + 1), 0, 15 * round + 10));
            assert_eq!(state, (WorkerState::Active, now), "it counts as sleep");
            counters.observe(Event::GuestLeft, no_clock);
            assert_eq!(look(start + 25), (WorkerState::Asleep, now));
        }
    }
}

/// A program whose work is in calls from outside is not asleep.
#[test]
fn long_stays_of_guests_are_timed() {
    let counters = WorkerCounters::new();
    let times_at = |now| counters.snapshot(at(now)).unwrap().times;
    counters.observe(Event::Sleep, at(0));
    let long = SHORT_STAY;
    for round in 0..3 {
        let start = 2 * round * long;
        counters.observe(Event::GuestArrived, at(start + long));
        counters.observe(Event::GuestLeft, at(start + 2 * long));
        let half = (round + 1) * long;
        assert_eq!(times_at(start + 2 * long), times(half, 0, half));
    }
}

#[test]
fn a_guest_that_searches_is_timed_from_then_on() {
    let counters = WorkerCounters::new();
    let no_clock = || unreachable!("the call would wait for the clock");
    let look = |now| state_and_times(&counters, now);
    counters.observe(Event::Sleep, at(10));
    counters.observe(Event::GuestArrived, at(10));
    counters.observe(Event::GuestLeft, at(10));
    counters.observe(Event::GuestArrived, no_clock);
    counters.observe(Event::Idle, at(20));
    assert_eq!(look(21), (WorkerState::Idle, times(0, 1, 10)));
    counters.observe(Event::Sleep, at(22));
    assert_eq!(look(22).0, WorkerState::Asleep);
    counters.observe(Event::Active(SearchEnd::Latch), at(23));
    counters.observe(Event::GuestLeft, at(27));
    assert_eq!(look(30), (WorkerState::Asleep, times(4, 2, 14)));
}

/// Counters of 32 bits would hold four seconds.
#[test]
fn times_are_wide() {
    let stopwatch = Stopwatch::new();
    let hour = Duration::from_secs(3600).as_nanos() as u64;
    stopwatch.switch(WorkerState::Asleep, at(0));
    assert_eq!(stopwatch.read(at(hour)).1, times(0, 0, hour));
}

#[test]
fn without_a_clock_there_are_states_and_no_times() {
    let stopwatch = Stopwatch::new();
    stopwatch.switch(WorkerState::Idle, || None);
    assert_eq!(stopwatch.read(|| None), (WorkerState::Idle, None));
}

/// A core whose clock is behind.
#[test]
fn a_clock_that_starts_late_counts_from_then_on() {
    let stopwatch = Stopwatch::new();
    stopwatch.switch(WorkerState::Active, || None);
    stopwatch.switch(WorkerState::Idle, at(1_000));
    stopwatch.switch(WorkerState::Active, at(1_005));
    assert_eq!(stopwatch.read(at(1_005)).1, times(0, 5, 0));
}

#[test]
fn a_clock_that_goes_back_takes_nothing_away() {
    let stopwatch = Stopwatch::new();
    stopwatch.switch(WorkerState::Active, at(100));
    stopwatch.switch(WorkerState::Idle, at(90));
    stopwatch.switch(WorkerState::Active, at(105));
    assert_eq!(stopwatch.read(at(80)).1, times(0, 5, 0));
}

/// The state lasts as many nanoseconds as the clock counts: whatever a reader sees adds up to it.
#[test]
fn a_reader_sees_times_that_add_up() {
    let stopwatch = Stopwatch::new();
    let is_done = AtomicBool::new(false);
    stopwatch.switch(WorkerState::Active, at(0));
    thread::scope(|threads| {
        threads.spawn(|| {
            let mut last = Duration::ZERO;
            while !is_done.load(SeqCst) {
                // At this reader's time no interval lasts on: the sum is that of the finished ones.
                let times = stopwatch.read(at(0)).1.unwrap();
                let sum = times.active + times.idle + times.asleep;
                assert!(last <= sum, "{last:?} and then {sum:?}");
                last = sum;
            }
        });
        let states = [WorkerState::Idle, WorkerState::Asleep, WorkerState::Active];
        for (time, state) in (1..=ROUNDS).zip(states.into_iter().cycle()) {
            stopwatch.switch(state, at(time));
        }
        is_done.store(true, SeqCst);
    });
    let times = stopwatch.read(at(0)).1.unwrap();
    assert_eq!(
        times.active + times.idle + times.asleep,
        Duration::from_nanos(ROUNDS)
    );
}
