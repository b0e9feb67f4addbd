use super::*;

/// Waits until the clock has counted something for the current activity.
fn wait_for_time(clock: &WorkerClock, of: impl Fn(WorkerTimes) -> Duration) -> WorkerTimes {
    let before = of(clock.times());
    loop {
        let times = clock.times();
        if of(times) > before {
            return times;
        }
        std::thread::yield_now();
    }
}

#[test]
fn only_the_current_activity_takes_time() {
    let clock = WorkerClock::new();
    wait_for_time(&clock, |times| times.idle);
    clock.switch(Activity::Active);
    let idle = clock.times().idle;
    assert!(idle > Duration::ZERO);
    wait_for_time(&clock, |times| times.active);
    clock.switch(Activity::Asleep);
    let active = clock.times().active;
    let times = wait_for_time(&clock, |times| times.asleep);
    assert_eq!((times.idle, times.active), (idle, active));
}

/// Counters of 32 bits would hold four seconds.
#[test]
fn counters_are_wide() {
    let clock = WorkerClock::new();
    let hour = Duration::from_secs(3600);
    clock.totals[Activity::Asleep as usize].store(hour.as_nanos() as u64, Ordering::Relaxed);
    assert_eq!(clock.times().asleep, hour);
}
