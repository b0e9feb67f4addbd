//! Marks, and the reports that they lead to.

use std::panic;

use super::*;

#[test]
fn all_workers_that_block_are_reported_once() {
    static REPORTS: Reports = Reports::new();
    static POOL: SpinPool<TestCores<2>> = pool(|report| {
        assert_eq!((report.num_workers(), report.num_blocked()), (2, 2));
        assert!(report.states().all(|(_, state)| state == State::Blocked));
        REPORTS.add(report);
    });
    static RESUMED: AtomicUsize = AtomicUsize::new(0);

    RESUMED.store(0, SeqCst);
    with_workers(&POOL, || {
        thread::scope(|threads| {
            threads.spawn(|| {
                // The thread to which the handler passes the work, since the handler must not
                // unmark.
                for round in 1..=3 {
                    REPORTS.wait_for(round);
                    assert_eq!(POOL.blocking_state(1), Ok(State::Blocked));
                    assert_eq!(POOL.mark_all_unblocked(REPORTS.tickets()), Ok(()));
                    RESUMED.store(round, SeqCst);
                }
            });
            for round in 1..=3 {
                let both_run = Barrier::new(2);
                let states = POOL.broadcast(|core| {
                    // A worker is reported if it blocks before the other worker has its job, while
                    // that other worker sleeps.
                    both_run.wait();
                    let wait = |_| {
                        while RESUMED.load(SeqCst) < round {
                            thread::yield_now();
                        }
                    };
                    core.blocking(wait).unwrap();
                    POOL.blocking_state(core.index())
                });
                assert_eq!(states, [Some(Ok(State::Active)); 2]);
            }
        });
        assert_eq!(POOL.install(|core| core.join(|_| 1, |_| 2)), (1, 2));
    });
    assert_eq!(REPORTS.count(), 3);
}

#[cfg(not(sleep_busy))]
#[test]
fn a_sleeping_worker_does_not_keep_a_blocked_one_from_being_reported() {
    static REPORTS: Reports = Reports::new();
    static POOL: SpinPool<TestCores<2>> = pool(|report| {
        assert_eq!((report.num_blocked(), report.num_asleep()), (1, 1));
        REPORTS.add(report);
    });
    with_workers(&POOL, || {
        let done = AtomicUsize::new(0);
        thread::scope(|threads| {
            threads.spawn(|| {
                POOL.install(|core| {
                    let wait = |_| {
                        while done.load(SeqCst) == 0 {
                            thread::yield_now();
                        }
                    };
                    core.blocking(wait).unwrap();
                });
            });
            REPORTS.wait_for(1);
            // The other worker wakes up and sleeps again: that is the same deadlock.
            for _ in 0..times(200) {
                POOL.install(|_| ());
            }
            assert_eq!(REPORTS.count(), 1);
            done.store(1, SeqCst);
        });
        POOL.install(|core| core.join(|_| (), |_| ()));
    });
    assert_eq!(REPORTS.count(), 1);
}

#[cfg(sleep_busy)]
#[test]
fn a_worker_that_never_sleeps_keeps_others_from_being_reported() {
    static POOL: SpinPool<TestCores<2>> = pool(no_report);
    with_workers(&POOL, || {
        let done = AtomicUsize::new(0);
        thread::scope(|threads| {
            threads.spawn(|| {
                POOL.install(|core| {
                    let wait = |_| {
                        while done.load(SeqCst) == 0 {
                            thread::yield_now();
                        }
                    };
                    core.blocking(wait).unwrap();
                });
            });
            for _ in 0..times(200) {
                POOL.install(|_| ());
            }
            done.store(1, SeqCst);
        });
    });
}

#[test]
fn absent_workers_do_not_count() {
    static REPORTS: Reports = Reports::new();
    static POOL: SpinPool<TestCores<3>> = pool(|report| REPORTS.add(report));
    assert_eq!(POOL.blocking_state(0), Ok(State::Absent));
    POOL.run_with(1, |core| {
        assert_eq!(POOL.blocking_state(1), Ok(State::Active));
        core.blocking(|ticket| {
            assert_eq!(REPORTS.count(), 1);
            assert_eq!(REPORTS.tickets(), [ticket]);
        })
        .unwrap();
        assert_eq!(POOL.blocking_state(1), Ok(State::Active));
    })
    .unwrap();
    assert_eq!(POOL.blocking_state(1), Ok(State::Absent));
    assert_eq!(REPORTS.count(), 1);
}

#[test]
fn a_worker_that_leaves_can_complete_a_deadlock() {
    static REPORTS: Reports = Reports::new();
    static POOL: SpinPool<TestCores<2>> = pool(|report| REPORTS.add(report));
    let [has_arrived, is_blocked] = [Barrier::new(2), Barrier::new(2)];
    thread::scope(|threads| {
        threads.spawn(|| {
            POOL.run_with(0, |core| {
                // Otherwise there is a report before the other worker arrives.
                has_arrived.wait();
                core.blocking(|_| {
                    is_blocked.wait();
                    REPORTS.wait_for(1);
                })
            })
            .unwrap()
            .unwrap();
        });
        POOL.run_with(1, |_| {
            has_arrived.wait();
            is_blocked.wait();
            assert_eq!(REPORTS.count(), 0, "this worker runs");
        })
        .unwrap();
        assert_eq!(REPORTS.count(), 1);
    });
}

#[test]
fn a_released_worker_is_absent() {
    static POOL: SpinPool<TestCores<2>> = pool(no_report);
    thread::scope(|threads| {
        let released = threads.spawn(|| POOL.run_worker(1));
        threads.spawn(|| POOL.run_worker(0));
        wait_for_workers(&POOL);
        POOL.release_worker(1).unwrap();
        assert_eq!(released.join().unwrap(), Ok(ExitReason::Released));
        assert_eq!(POOL.blocking_state(1), Ok(State::Absent));
        POOL.end();
    });
}

#[test]
fn bad_marks_are_errors() {
    static POOL: SpinPool<TestCores<1>> = pool(|_| ());
    static LARGER: SpinPool<TestCores<2>> = pool(|_| ());
    let foreign = LARGER.run_with(1, |core| core.mark_blocked()).unwrap();
    let foreign = foreign.unwrap();
    POOL.run_with(0, |core: Worker<'_, TestCores<1>>| {
        let ticket = core.mark_blocked().unwrap();
        let state = State::Blocked;
        assert_eq!(core.mark_blocked(), Err(NotActive { worker: 0, state }));
        let nested = core.blocking(|_| unreachable!("the worker is blocked"));
        assert_eq!(nested, Err::<(), _>(NotActive { worker: 0, state }));
        // All other workers are unmarked anyway.
        let both = POOL.mark_all_unblocked([foreign, ticket]);
        assert_eq!(both, Err(NotBlocked { worker: 1 }));
        assert_eq!(POOL.blocking_state(0), Ok(State::Active));

        let earlier = ticket;
        assert_eq!(
            POOL.mark_unblocked(earlier),
            Err(NotBlocked { worker: 0 }),
            "used already"
        );
        let later = core.mark_blocked().unwrap();
        assert_eq!(
            POOL.mark_unblocked(earlier),
            Err(NotBlocked { worker: 0 }),
            "of an earlier section"
        );
        assert_eq!(POOL.mark_unblocked(later), Ok(()));
        // The closure's own call comes first; the one after it finds nothing to do.
        let ended = core.blocking(|ticket| POOL.mark_unblocked(ticket));
        assert_eq!(ended, Ok(Ok(())));
    })
    .unwrap();
    let unknown: Result<State, UnknownWorker> = POOL.blocking_state(1);
    assert!(unknown.is_err());
}

// On a host, a job may catch a panic.
#[test]
fn a_section_ends_with_a_panic_that_the_job_catches() {
    static POOL: SpinPool<TestCores<1>> = pool(|_| ());
    POOL.run_with(0, |core| {
        let section = panic::AssertUnwindSafe(|| core.blocking(|_| panic!("caught")));
        assert!(panic::catch_unwind(section).is_err());
        assert_eq!(POOL.blocking_state(0), Ok(State::Active));
        assert!(core.blocking(|_| ()).is_ok());
    })
    .unwrap();
}
