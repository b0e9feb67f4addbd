//! Completions.

use super::*;

#[test]
fn a_blocked_worker_leaves_its_jobs_to_others() {
    static POOL: SpinPool<TestCores<2>> = pool(no_report);
    static EVENT: Completion<TestCores<2>> = Completion::new(&POOL);
    with_workers(&POOL, || {
        for _ in 0..times(100) {
            POOL.install(|core| {
                // The other worker may sleep, or be about to: without it there is no end.
                core.join(|core| core.wait_for(&EVENT).unwrap(), |_| EVENT.complete());
            });
        }
    });
}

#[test]
fn there_is_no_report_while_another_worker_works() {
    static POOL: SpinPool<TestCores<3>> = pool(no_report);
    static EVENT: Completion<TestCores<3>> = Completion::new(&POOL);
    with_workers(&POOL, || {
        for _ in 0..times(100) {
            POOL.install(|core| {
                core.join(
                    |core| core.wait_for(&EVENT).unwrap(),
                    |core| {
                        while POOL.blocking_state(0) != Ok(State::Blocked)
                            && POOL.blocking_state(1) != Ok(State::Blocked)
                            && POOL.blocking_state(2) != Ok(State::Blocked)
                        {
                            thread::yield_now();
                        }
                        core.join(|_| (), |_| ());
                        EVENT.complete();
                    },
                );
            });
        }
    });
}

#[test]
fn what_never_comes_is_reported_and_the_pool_goes_on() {
    static REPORTS: Reports = Reports::new();
    static POOL: SpinPool<TestCores<2>> = pool(|report| REPORTS.add(report));
    static EVENTS: [Completion<TestCores<2>>; 2] = [Completion::new(&POOL), Completion::new(&POOL)];
    with_workers(&POOL, || {
        for round in 1..=times(100) {
            thread::scope(|threads| {
                threads.spawn(|| {
                    POOL.broadcast(|core| core.wait_for(&EVENTS[core.index()]).unwrap());
                });
                REPORTS.wait_for(round);
                // While one of two is let go, the other stays blocked.
                EVENTS[round % 2].complete();
                EVENTS[1 - round % 2].complete();
            });
            // Between the two calls, the first worker may have found nothing to do, and slept.
            let second = REPORTS.count() - round;
            assert!(second <= 1);
            REPORTS.count.fetch_sub(second, SeqCst);
        }
        assert_eq!(POOL.install(|core| core.join(|_| 1, |_| 2)), (1, 2));
    });
}

#[test]
fn a_completion_is_kept_until_the_next_wait() {
    static POOL: SpinPool<TestCores<1>> = pool(no_report);
    static EVENT: Completion<TestCores<1>> = Completion::new(&POOL);
    EVENT.complete();
    EVENT.complete();
    POOL.run_with(0, |core| {
        // Not blocked, and so not reported.
        core.wait_for(&EVENT).unwrap();
        assert_eq!(POOL.blocking_state(0), Ok(State::Active));
    })
    .unwrap();
    assert!(std::format!("{EVENT:?}").contains("Pending"), "{EVENT:?}");
}

#[test]
fn bad_waits_are_errors() {
    static POOL: SpinPool<TestCores<2>> = pool(no_report);
    static OTHER: SpinPool<TestCores<2>> = pool(no_report);
    static EVENT: Completion<TestCores<2>> = Completion::new(&POOL);
    OTHER
        .run_with(0, |core| {
            assert_eq!(core.wait_for(&EVENT), Err(WaitError::OtherPool));
        })
        .unwrap();
    thread::scope(|threads| {
        POOL.run_with(0, |core| {
            threads.spawn(|| POOL.run_with(1, |core| core.wait_for(&EVENT).unwrap()));
            while POOL.blocking_state(1) != Ok(State::Blocked) {
                thread::yield_now();
            }
            assert_eq!(core.wait_for(&EVENT), Err(WaitError::Taken));
            EVENT.complete();
            while POOL.blocking_state(1) != Ok(State::Absent) {
                thread::yield_now();
            }
        })
        .unwrap();
    });
    static NESTED: SpinPool<TestCores<1>> = pool(|_| ());
    static INNER: Completion<TestCores<1>> = Completion::new(&NESTED);
    NESTED
        .run_with(0, |core| {
            let inner = core.blocking(|_| core.wait_for(&INNER)).unwrap();
            let (worker, state) = (0, State::Blocked);
            let error = WaitError::NotActive(NotActive { worker, state });
            assert_eq!(inner, Err(error));
            // The failed wait left nothing behind.
            INNER.complete();
            assert_eq!(core.wait_for(&INNER), Ok(()));
        })
        .unwrap();
}
