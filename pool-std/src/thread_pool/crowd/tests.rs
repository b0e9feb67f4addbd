use super::*;
use crate::{ThreadPool, ThreadPoolBuilder};

const PROCESSORS: usize = 2;

/// A model of a watchdog whose checks receive their findings from the test.
struct Play<'c> {
    watchdog: Watchdog<'c>,
    time: Instant,
    used: Duration,
    job: WaitingJob,
}

impl<'c> Play<'c> {
    fn new(crowd: &'c Crowd) -> Self {
        let time = Instant::now();
        Self {
            watchdog: Watchdog {
                has_ended: false,
                crowd,
                next_check: time,
                last: None,
                checks: 0,
            },
            time,
            used: Duration::ZERO,
            job: some_job(),
        }
    }

    /// Checks after ten milliseconds, in which the process has used this many milliseconds of
    /// processor time.
    fn check(&mut self, used: u64, waits: Waits) -> Verdict {
        self.time += Duration::from_millis(10);
        self.used += Duration::from_millis(used);
        let finding = Finding {
            job: (waits != Waits::None).then_some(self.job),
            time: self.time,
            used: self.used,
        };
        self.watchdog.judge(finding, waits == Waits::Old)
    }
}

/// Which job waits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waits {
    None,
    New,
    Old,
}

fn some_job() -> WaitingJob {
    let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let (in_job, go_on) = std::sync::mpsc::channel();
    let (done, is_done) = std::sync::mpsc::channel();
    let registry = pool.registry.clone();
    pool.spawn(move || {
        crate::spawn(|| ());
        in_job.send(registry.waiting_job().unwrap()).unwrap();
        is_done.recv().unwrap();
    });
    let job = go_on.recv().unwrap();
    done.send(()).unwrap();
    job
}

#[test]
fn a_job_that_waits_while_a_processor_is_idle_begins_a_relief() {
    let crowd = Crowd::new(PROCESSORS + 1, PROCESSORS);
    for (used, verdict) in [
        (0, Verdict::Relieve),
        (14, Verdict::Relieve),
        (15, Verdict::Watch),
        (20, Verdict::Watch),
    ] {
        let mut play = Play::new(&crowd);
        assert_eq!(play.check(0, Waits::New), Verdict::Watch, "the first check");
        assert_eq!(play.check(used, Waits::Old), verdict, "{used}");
    }
}

/// In a loop of short regions, some job waits at each check, but it is not the same one.
#[test]
fn jobs_that_wait_for_a_moment_begin_none() {
    let crowd = Crowd::new(PROCESSORS + 1, PROCESSORS);
    let mut play = Play::new(&crowd);
    for _ in 0..100 {
        assert_eq!(play.check(0, Waits::New), Verdict::Watch);
    }
}

#[test]
fn a_job_that_waits_for_long_wakes_a_worker_in_any_case() {
    let crowd = Crowd::new(PROCESSORS + 1, PROCESSORS);
    let mut play = Play::new(&crowd);
    assert_eq!(play.check(0, Waits::New), Verdict::Watch);
    for check in 1..=30 {
        let expected = match check % PATIENCE {
            0 => Verdict::WakeOne,
            _ => Verdict::Watch,
        };
        assert_eq!(play.check(20, Waits::Old), expected, "{check}");
    }
    assert_eq!(play.check(20, Waits::New), Verdict::Watch);
    assert_eq!(play.check(20, Waits::Old), Verdict::Watch);
}

#[test]
fn a_watchdog_with_nothing_to_watch_ends() {
    let crowd = Crowd::new(PROCESSORS + 1, PROCESSORS);
    let mut play = Play::new(&crowd);
    for _ in 0..PATIENCE {
        assert_eq!(play.check(0, Waits::None), Verdict::Watch);
    }
    assert_eq!(play.check(0, Waits::None), Verdict::End);
}

/// Programs whose jobs block again and again have all workers available most of the time.
#[test]
fn each_relief_lasts_twice_as_long_until_processors_are_busy() {
    let pool = crowded();
    let registry = &pool.registry;
    let crowd = Crowd::new(PROCESSORS + 1, PROCESSORS);
    let duration = || lock(&crowd.relief).duration;
    assert_eq!(duration(), SHORT_RELIEF);
    crowd.relieve(registry);
    assert!(lock(&crowd.relief).ends.is_some());
    assert_eq!(duration(), 2 * SHORT_RELIEF);
    for _ in 0..20 {
        crowd.relieve(registry);
    }
    assert_eq!(duration(), LONG_RELIEF);
    let mut play = Play::new(&crowd);
    play.check(20, Waits::New);
    play.check(20, Waits::Old);
    assert_eq!(duration(), SHORT_RELIEF);
}

fn crowded() -> ThreadPool {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let builder = ThreadPoolBuilder::new().num_threads(2 * processors);
    builder.build().unwrap()
}

#[test]
fn workers_that_cannot_run_do_not_count() {
    let pool = crowded();
    let registry = &pool.registry;
    let crowd = Crowd::new(PROCESSORS + 1, PROCESSORS);
    assert_eq!(crowd.parallelism(registry), usize::MAX, "no worker watches");
    crowd.mode.store(RELIEVED, Ordering::Relaxed);
    assert_eq!(crowd.parallelism(registry), usize::MAX);
    crowd.mode.store(WATCHED, Ordering::Relaxed);
    assert_eq!(crowd.parallelism(registry), PROCESSORS);
    let in_section = pool.install(|| crate::blocking("a test", |_| crowd.parallelism(registry)));
    assert_eq!(in_section, PROCESSORS + 1);
    assert_eq!(crowd.parallelism(registry), PROCESSORS);
    let workers = pool.current_num_threads();
    pool.set_active_workers(1).unwrap();
    assert_eq!(crowd.parallelism(registry), PROCESSORS + workers - 1);
}

/// A pool that was built when the process could use few processors uses all processors that are
/// added later. No more of its workers are active than there are processors, so each of them is
/// worth waking.
#[test]
fn a_pool_that_follows_the_processors_has_no_limit() {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let workers = 4 * processors;
    let builder = ThreadPoolBuilder::new().num_threads(workers);
    let pool = builder.follow_processors().build().unwrap();
    let registry = &pool.registry;
    let crowd = registry.data().crowd.as_ref().unwrap();
    for now in [2, 1, 4, 5].map(|factor| factor * processors) {
        registry.data().follower.follow(registry, now);
        assert_eq!(pool.active_workers(), now.min(workers));
        crowd.mode.store(WATCHED, Ordering::Relaxed);
        let parallelism = crowd.parallelism(registry);
        assert!(
            parallelism >= workers,
            "{parallelism} with {now} processors"
        );
        crowd.mode.store(UNWATCHED, Ordering::Relaxed);
    }
}

/// The number of awake workers equals that of processors, so that joins wake no other worker. Then
/// one of the awake workers has to park.
#[test]
fn a_worker_that_is_to_park_makes_room_for_another_one() {
    use std::sync::{Barrier, mpsc};

    let pool = crowded();
    let (registry, workers) = (&pool.registry, pool.current_num_threads());
    let crowd = registry.data().crowd.as_ref().unwrap();
    while registry.num_sleeping() < workers || crowd.is_watched() {
        std::thread::yield_now();
    }
    // No worker becomes the watchdog, which would wake the others after a while.
    crowd.mode.store(WATCHED, Ordering::Relaxed);
    let end = Barrier::new(crowd.processors());
    pool.broadcast(|context| {
        if context.index() < crowd.processors() - 1 {
            end.wait();
        }
        if context.index() < workers - 1 {
            return;
        }
        while registry.num_sleeping() < workers - crowd.processors() {
            std::thread::yield_now();
        }
        for _ in 0..10 {
            crate::join(|| (), || ());
        }
        pool.set_active_workers(workers - 1).unwrap();
        let (sender, receiver) = mpsc::channel();
        let (answer, ()) = crate::join(
            move || receiver.recv_timeout(Duration::from_secs(120)),
            move || _ = sender.send(()),
        );
        end.wait();
        assert_eq!(answer, Ok(()), "a processor stays idle");
    });
    crowd.mode.store(UNWATCHED, Ordering::Relaxed);
}

#[test]
fn a_watchdog_is_taken_on_by_one_worker_of_an_active_pool() {
    let pool = crowded();
    let crowd = Crowd::new(PROCESSORS + 1, PROCESSORS);
    assert!(
        Watchdog::begin(&crowd).is_none(),
        "the pool is not built yet"
    );
    crowd.set_registry(&Arc::downgrade(&pool.registry));
    pool.install(|| {
        let watchdog = Watchdog::begin(&crowd).expect("this worker is active");
        assert!(Watchdog::begin(&crowd).is_none());
        drop(watchdog);
        crowd.relieve(&pool.registry);
        assert!(lock(&crowd.relief).ends.is_some());
        // This thread may have been away for longer than the relief.
        lock(&crowd.relief).ends = Some(Instant::now() + Duration::from_secs(600));
        assert!(Watchdog::begin(&crowd).is_none(), "not during a relief");
        lock(&crowd.relief).ends = Some(Instant::now());
        assert!(Watchdog::begin(&crowd).is_some());
        assert_eq!(crowd.mode.load(Ordering::Relaxed), UNWATCHED);
    });
}

#[test]
fn a_watchdog_that_has_ended_leaves_the_next_one_alone() {
    let pool = crowded();
    let crowd = Crowd::new(PROCESSORS + 1, PROCESSORS);
    crowd.set_registry(&Arc::downgrade(&pool.registry));
    let (first, second) = pool.install(|| {
        let mut first = Watchdog::begin(&crowd).expect("this worker is active");
        first.checks = PATIENCE;
        first.next_check = Instant::now();
        assert!(first.remaining().is_none());
        (first, Watchdog::begin(&crowd).expect("the first has ended"))
    });
    drop(first);
    assert!(crowd.is_watched());
    drop(second);
    assert!(!crowd.is_watched());
}

#[test]
fn only_pools_with_too_few_processors_have_a_limit() {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    for threads in [processors.max(2), processors + 1] {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build();
        let registry = &pool.unwrap().registry;
        let crowd = registry.data().crowd.as_ref().unwrap();
        crowd.mode.store(WATCHED, Ordering::Relaxed);
        let has_limit = crowd.parallelism(registry) != usize::MAX;
        assert_eq!(has_limit, threads > processors, "{threads}");
        crowd.mode.store(UNWATCHED, Ordering::Relaxed);
    }
    let builder = ThreadPoolBuilder::new().num_threads(processors + 1);
    let pool = builder.overlook_no_jobs(true).build().unwrap();
    assert!(pool.registry.data().crowd.is_none(), "it overlooks no jobs");
}

/// This is also true in a pool with a processor for each worker.
#[test]
fn a_watchdog_watches_while_short_calls_are_expected() {
    let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let crowd = Crowd::new(2, 2);
    crowd.set_registry(&Arc::downgrade(&pool.registry));
    pool.install(|| assert!(Watchdog::begin(&crowd).is_none(), "none is expected"));
    crowd.short_calls.expect_short();
    let mut watchdog = Watchdog::begin(&crowd).expect("short calls are expected");
    assert!(watchdog.remaining().is_some(), "it is not time to check");
    drop(watchdog);
    crowd.relieve(&pool.registry);
    assert!(!crowd.short_calls.are_expected());
}

/// The first half of each join waits for the second one, and no worker is woken for that one at
/// once.
#[test]
fn a_call_that_waits_for_its_delayed_job_ends() {
    use std::sync::mpsc;

    for threads in [2, 8] {
        let pool = ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        let crowd = pool.registry.data().crowd.as_ref().unwrap();
        for _ in 0..3 {
            *lock(&crowd.relief) = Relief {
                ends: None,
                duration: SHORT_RELIEF,
            };
            crowd.short_calls.expect_short();
            while !crowd.is_watched() {
                // The worker that falls asleep after this becomes the watchdog.
                pool.install(|| ());
                while pool.registry.num_sleeping() < threads {
                    std::thread::yield_now();
                }
                for _ in 0..100 {
                    std::thread::yield_now();
                }
            }
            let (sender, receiver) = mpsc::channel();
            pool.call(|| {
                crate::join(
                    move || receiver.recv().unwrap(),
                    move || sender.send(()).unwrap(),
                )
            });
        }
    }
}
