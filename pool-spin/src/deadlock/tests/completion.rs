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
                // While one of the two workers is released, the other one stays blocked.
                EVENTS[round % 2].complete();
                EVENTS[1 - round % 2].complete();
            });
            // Between the two calls, the first worker may have found no job, and slept.
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
        // This worker is not blocked, and so is not reported.
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
            // The failed wait has had no effect.
            INNER.complete();
            assert_eq!(core.wait_for(&INNER), Ok(()));
        })
        .unwrap();
}

/// A machine whose parkers always return early, so that each wait has to check by itself.
struct Hasty;

/// How often parkers of the machine have returned.
static EARLY_RETURNS: AtomicUsize = AtomicUsize::new(0);

struct HastyParker;

impl Parker for HastyParker {
    fn park(&self) {
        EARLY_RETURNS.fetch_add(1, SeqCst);
        thread::yield_now();
    }

    fn unpark(&self) {}
}

impl CoreParker for HastyParker {
    const NEW: Self = Self;
}

// SAFETY: 1. and 2. as for `Host`, whose pointers it has.
unsafe impl Machine for Hasty {
    type Local = <Host as Machine>::Local;
    type Parker = HastyParker;
}

/// A lock that lets other threads run first, so that they come in between two locks.
struct LazyLock(HostLock);

// SAFETY: the lock inside excludes.
unsafe impl RawMutex for LazyLock {
    const INIT: Self = Self(HostLock::INIT);
    type GuardMarker = <HostLock as RawMutex>::GuardMarker;

    fn lock(&self) {
        (0..10).for_each(|_| thread::yield_now());
        self.0.lock();
    }

    fn try_lock(&self) -> bool {
        self.0.try_lock()
    }

    unsafe fn unlock(&self) {
        // SAFETY: 1. the caller holds the lock.
        unsafe { self.0.unlock() }
    }
}

#[test]
fn a_parker_that_returns_early_ends_no_wait() {
    type Chip = DetectingCores<Hasty, LazyLock, 1, 16>;
    static POOL: SpinPool<Chip> = SpinPool::with_deadlock_handler(|_| ());
    static EVENT: Completion<Chip> = Completion::new(&POOL);
    static ROUNDS: AtomicUsize = AtomicUsize::new(0);
    static RETURNED: AtomicUsize = AtomicUsize::new(0);
    // Each round yields some forty times: while other programs keep the processors busy, each yield
    // takes as long as their time slices.
    const LAST: usize = if cfg!(miri) { 5 } else { 100 };
    thread::scope(|threads| {
        threads.spawn(|| {
            POOL.run_with(0, |core| {
                for round in 1..=LAST {
                    core.wait_for(&EVENT).unwrap();
                    RETURNED.store(round, SeqCst);
                    assert_eq!(ROUNDS.load(SeqCst), round, "returned before the event");
                    // The wait has left its blocked section.
                    assert_eq!(POOL.blocking_state(0), Ok(State::Active));
                }
            })
            .unwrap();
        });
        for round in 1..=LAST {
            let before = EARLY_RETURNS.load(SeqCst);
            while EARLY_RETURNS.load(SeqCst) < before + 3 && RETURNED.load(SeqCst) < round {
                thread::yield_now();
            }
            ROUNDS.store(round, SeqCst);
            EVENT.complete();
            // Otherwise two events could count as one.
            while RETURNED.load(SeqCst) < round {
                thread::yield_now();
            }
        }
    });
}

/// A machine in whose parkers code of the program runs.
struct Meddling;

struct MeddlingParker;

std::thread_local! {
    /// The action of the next park of this thread.
    static IN_PARK: core::cell::Cell<Option<fn()>> = const { core::cell::Cell::new(None) };
}

impl Parker for MeddlingParker {
    fn park(&self) {
        if let Some(act) = IN_PARK.get() {
            act();
        }
        thread::yield_now();
    }

    fn unpark(&self) {}
}

impl CoreParker for MeddlingParker {
    const NEW: Self = Self;
}

// SAFETY: 1. and 2. as for `Host`, whose pointers it has.
unsafe impl Machine for Meddling {
    type Local = <Host as Machine>::Local;
    type Parker = MeddlingParker;
}

#[test]
fn no_other_worker_takes_a_completion_that_a_worker_waits_for() {
    type Chip = DetectingCores<Meddling, HostLock, 2, 16>;
    static POOL: SpinPool<Chip> = SpinPool::with_deadlock_handler(|_| ());
    static EVENT: Completion<Chip> = Completion::new(&POOL);
    static OTHER: Mutex<Option<Result<(), WaitError>>> = Mutex::new(None);
    IN_PARK.set(Some(|| {
        EVENT.complete();
        // The first worker has not noticed that its event has come.
        let other = thread::spawn(|| POOL.run_with(1, |core| core.wait_for(&EVENT)).unwrap());
        OTHER.lock().unwrap().get_or_insert(other.join().unwrap());
        // If the other worker has taken the event, the first one would wait forever.
        EVENT.complete();
    }));
    POOL.run_with(0, |core| {
        assert_eq!(core.wait_for(&EVENT), Ok(()));
        assert_eq!(*OTHER.lock().unwrap(), Some(Err(WaitError::Taken)));
        // The two completions counted as one.
        IN_PARK.set(Some(|| EVENT.complete()));
        assert_eq!(core.wait_for(&EVENT), Ok(()));
        assert!(std::format!("{EVENT:?}").contains("Pending"), "{EVENT:?}");
    })
    .unwrap();
}
