//! Random histories of workers that block on events and resume each other, lend their places, and
//! park. Each goes on to its end, or comes to a deadlock that is reported and then broken. A
//! history that does neither hangs: then a watchdog names its seed and prints what every worker
//! does.
//!
//! `STRESS_SECONDS` sets how long the test goes on; the default is a number of histories that takes
//! seconds. `STRESS_SEED` sets the first seed.
#![cfg(not(miri))]

use std::{
    env,
    fmt::Write as _,
    process,
    sync::{
        Arc, Mutex, OnceLock, Weak,
        atomic::{
            AtomicBool, AtomicU64, AtomicUsize,
            Ordering::{Relaxed, SeqCst},
        },
        mpsc::{self, Receiver, RecvTimeoutError},
    },
    thread,
    time::{Duration, Instant},
};

use pool_std::{IdlePolicy, ThreadPool, ThreadPoolBuilder};

mod author;
mod event;
mod world;

use author::{Actors, Author, Random};
use world::{Injection, Reported, World};

/// The default number of histories for each number of workers.
const HISTORIES: u64 = 60;
const EVENTS: usize = 12;
/// How many steps a history has at most.
const STEPS: usize = 48;
const MAX_WORKERS: usize = 8;
/// A history takes less than a millisecond of work.
const LIMIT: Duration = Duration::from_secs(120);
/// Builds the pool of a history.
fn build(
    world: &Arc<World>,
    workers: usize,
    random: &mut Random,
) -> (ThreadPool, Receiver<Reported>) {
    let (sender, reports) = mpsc::channel();
    let sender = Mutex::new(sender);
    let policies = [IdlePolicy::IMMEDIATE, IdlePolicy::DEFAULT];
    let [seen, acquired, released] = [(); 3].map(|()| world.clone());
    let pool = ThreadPoolBuilder::new()
        .num_threads(workers)
        .max_blocking_threads(random.below(3))
        .active_workers(1 + random.below(workers))
        .idle_policy(policies[random.below(2)])
        .acquire_thread_handler(move || _ = acquired.runnable.fetch_add(1, SeqCst))
        .release_thread_handler(move || {
            assert!(released.runnable.fetch_sub(1, SeqCst) > 0);
        })
        .deadlock_handler(move |report| {
            for label in report.blocked().filter_map(|worker| worker.label()) {
                let event: usize = label.parse().unwrap();
                // The event may only happen after its waiters were unmarked, which this lock
                // prevents.
                assert!(
                    !seen.events[event].is_open.load(SeqCst),
                    "a waiter that was resumed"
                );
            }
            let progress = seen.progress.load(SeqCst);
            let report = report.clone();
            sender
                .lock()
                .unwrap()
                .send(Reported { report, progress })
                .unwrap();
        })
        .build();
    (pool.unwrap(), reports)
}

/// What the watchdog looks at.
type Watched = Mutex<(u64, Instant, Weak<ThreadPool>)>;

/// Runs one history to its end, and returns how many deadlocks it came to.
fn run_history(seed: u64, workers: usize, watched: &Watched) -> u64 {
    let mut random = Random::new(seed);
    let actors = if random.below(2) == 0 {
        Actors::Own
    } else {
        Actors::All
    };
    let mut author = Author {
        random,
        actors,
        steps_left: STEPS,
    };
    let history: Vec<_> = (0..1 + author.random.below(4))
        .map(|_| author.steps(4, true))
        .collect();
    let mut random = author.random;
    let other = || {
        ThreadPoolBuilder::new()
            .num_threads(1 + workers % 2)
            .build()
            .unwrap()
    };
    let (injections, to_inject) = mpsc::channel();
    let world = Arc::new(World {
        seed,
        actors,
        events: Default::default(),
        progress: AtomicU64::new(0),
        runnable: AtomicUsize::new(0),
        workers,
        other: (actors == Actors::All).then(other),
        pool: OnceLock::new(),
        injections: Mutex::new(injections),
        injected: AtomicUsize::new(0),
    });
    let (pool, reports) = build(&world, workers, &mut random);
    let pool = Arc::new(pool);
    world.pool.set(Arc::downgrade(&pool)).expect("set once");
    *watched.lock().unwrap() = (seed, Instant::now(), Arc::downgrade(&pool));
    let has_ended = AtomicBool::new(false);
    let mut num_reports = 0;
    thread::scope(|threads| {
        let (world, pool, has_ended) = (&world, &pool, &has_ended);
        threads.spawn(move || inject(world, pool, &to_inject, has_ended));
        let breaker = threads.spawn(move || break_deadlocks(world, &reports, random, has_ended));
        pool.scope(|scope| {
            for steps in &history {
                scope.spawn(move |scope| world.run(steps, Some(scope)));
            }
        });
        // Injected jobs may inject others, before they end.
        while world.injected.load(SeqCst) > 0 {
            thread::yield_now();
        }
        has_ended.store(true, SeqCst);
        num_reports = breaker.join().unwrap();
    });
    Arc::into_inner(pool)
        .expect("the watchdog looks only at what hangs")
        .shutdown()
        .unwrap();
    assert_eq!(world.runnable.load(SeqCst), 0, "seed {seed}");
    num_reports
}

/// Injects jobs into the pool, from outside.
fn inject(
    world: &Arc<World>,
    pool: &ThreadPool,
    to_inject: &Receiver<Injection>,
    has_ended: &AtomicBool,
) {
    while !has_ended.load(SeqCst) {
        let Ok(steps) = to_inject.recv_timeout(Duration::from_millis(1)) else {
            continue;
        };
        let world = world.clone();
        pool.spawn(move || {
            world.run(&steps, None);
            world.injected.fetch_sub(1, SeqCst);
        });
    }
}

/// Breaks deadlocks when they are reported, and checks that they are some.
fn break_deadlocks(
    world: &World,
    reports: &Receiver<Reported>,
    mut random: Random,
    has_ended: &AtomicBool,
) -> u64 {
    let mut num_reports = 0;
    loop {
        let reported = match reports.recv_timeout(Duration::from_millis(1)) {
            Ok(reported) => reported,
            Err(RecvTimeoutError::Timeout) if !has_ended.load(SeqCst) => continue,
            Err(_) => return num_reports,
        };
        num_reports += 1;
        if world.actors == Actors::Own {
            // Time for a worker that could go on, and for a second report.
            (0..random.below(20)).for_each(|_| thread::yield_now());
            let progress = world.progress.load(SeqCst);
            assert_eq!(
                progress, reported.progress,
                "seed {}: a worker has gone on after\n{}",
                world.seed, reported.report
            );
            assert!(
                reports.try_recv().is_err(),
                "seed {}: reported twice",
                world.seed
            );
        }
        world.break_deadlock(&reported, &mut random);
    }
}

/// Aborts the process if a history takes too long.
fn watch(watched: &Watched, has_ended: &AtomicBool) {
    while !has_ended.load(SeqCst) {
        thread::sleep(Duration::from_millis(20));
        let watched = watched.lock().unwrap();
        if watched.1.elapsed() > LIMIT {
            let mut message = format!("seed {}: no end after {LIMIT:?}", watched.0);
            if let Some(pool) = watched.2.upgrade() {
                let _ = write!(message, "\n{}\n{}", pool.state(), pool.metrics());
            }
            eprintln!("{message}");
            process::abort();
        }
    }
}

/// Returns the number in an environment variable.
fn variable(name: &str) -> Option<u64> {
    env::var(name).ok()?.parse().ok()
}

#[test]
fn stress_of_random_histories() {
    let begin = Instant::now();
    let seconds = variable("STRESS_SECONDS").map(Duration::from_secs);
    let goes_on = |histories: u64| match seconds {
        Some(seconds) => begin.elapsed() < seconds,
        None => histories < HISTORIES * MAX_WORKERS as u64,
    };
    let first_seed = variable("STRESS_SEED").unwrap_or(1);
    let watched = Mutex::new((0, Instant::now(), Weak::new()));
    let has_ended = AtomicBool::new(false);
    let (mut histories, reports, with_reports) = (0, AtomicU64::new(0), AtomicU64::new(0));
    thread::scope(|threads| {
        threads.spawn(|| watch(&watched, &has_ended));
        let mut last_note = Instant::now();
        while goes_on(histories) {
            let workers = usize::try_from(histories).unwrap() % MAX_WORKERS + 1;
            let seed = first_seed.wrapping_add(histories);
            let of_this = thread::scope(|threads| {
                let run = || run_history(seed, workers, &watched);
                threads.spawn(run).join()
            });
            let Ok(of_this) = of_this else {
                eprintln!("seed {seed}, {workers} workers: failed");
                process::abort();
            };
            reports.fetch_add(of_this, Relaxed);
            with_reports.fetch_add(u64::from(of_this > 0), Relaxed);
            histories += 1;
            if last_note.elapsed() > Duration::from_secs(60) {
                println!("{histories} histories, {reports:?} reports");
                last_note = Instant::now();
            }
        }
        has_ended.store(true, SeqCst);
    });
    let [reports, with_reports] = [reports, with_reports].map(AtomicU64::into_inner);
    println!(
        "{histories} histories, {with_reports} with a deadlock, {reports} reports, {:?}",
        begin.elapsed()
    );
    // Otherwise the test does not test what it should.
    assert!(with_reports > 0 && with_reports < histories);
}
