//! Random histories of workers that block on events and resume each other. Each goes on to its end, or comes
//! to a deadlock that is reported and then broken. A history that does neither hangs: then a watchdog names
//! its seed and prints what every worker does.
//!
//! `STRESS_SECONDS` sets how long the test goes on; the default is a number of histories that takes seconds.
//! `STRESS_SEED` sets the first seed.
#![cfg(not(miri))]

use std::{
    env,
    fmt::Write as _,
    process,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{
            AtomicBool, AtomicU64, AtomicUsize,
            Ordering::{Relaxed, SeqCst},
        },
        mpsc::{self, Receiver, RecvTimeoutError, Sender},
    },
    thread,
    time::{Duration, Instant},
};

use pool_std::{
    Blocked, DeadlockReport, IdlePolicy, Scope, ThreadPool, ThreadPoolBuilder, blocking, join,
    mark_all_unblocked, mark_blocked,
};

/// The default number of histories for each number of workers.
const HISTORIES: u64 = 60;
const EVENTS: usize = 12;
/// How many steps a history has at most.
const STEPS: usize = 48;
const MAX_WORKERS: usize = 8;
/// A history takes less than a millisecond of work.
const LIMIT: Duration = Duration::from_secs(120);

/// Who may act on a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Actors {
    /// Its own workers alone, but for the thread that breaks deadlocks. So nothing happens between a report
    /// and the end of the deadlock, unless the report is false.
    Own,
    /// Also a thread outside that injects jobs, and a second pool.
    All,
}

/// A random step. Lists of steps are run one after the other.
#[derive(Debug)]
enum Step {
    /// Waits for an event, marked by a ticket or in a section.
    Wait {
        event: usize,
        in_section: bool,
    },
    /// Brings about events, whose waiters are resumed at once.
    Open(Vec<usize>),
    Compute(u32),
    Spawn(Vec<Step>),
    Join(Vec<Step>, Vec<Step>),
    /// Lets the thread outside inject a job, and does not wait for it.
    Inject(Vec<Step>),
    /// Waits for a job of the second pool.
    Install(Vec<Step>),
}

/// XorShift64Star.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let bits = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33;
        usize::try_from(bits).expect("31 bits") % limit
    }
}

/// Makes histories.
struct Author {
    random: Random,
    actors: Actors,
    steps_left: usize,
}

impl Author {
    /// `may_wait` says whether the steps may wait for events. Those of the second pool do not: two
    /// pools that wait for each other are outside the accounting, which is one pool's.
    fn steps(&mut self, depth: usize, may_wait: bool) -> Vec<Step> {
        let length = 1 + self.random.below(5);
        let length = length.min(self.steps_left);
        self.steps_left -= length;
        (0..length).map(|_| self.step(depth, may_wait)).collect()
    }

    fn step(&mut self, depth: usize, may_wait: bool) -> Step {
        let kinds = if depth == 0 { 6 } else { 12 };
        match self.random.below(kinds) {
            0..=1 if may_wait => Step::Wait {
                event: self.random.below(EVENTS),
                in_section: self.random.below(2) == 0,
            },
            0..=4 => {
                let events = 1 + self.random.below(3);
                Step::Open((0..events).map(|_| self.random.below(EVENTS)).collect())
            }
            5 => Step::Compute(1 << self.random.below(10)),
            6..=7 => Step::Spawn(self.steps(depth - 1, may_wait)),
            8..=9 => {
                let first = self.steps(depth - 1, may_wait);
                Step::Join(first, self.steps(depth - 1, may_wait))
            }
            _ if self.actors == Actors::Own => Step::Spawn(self.steps(depth - 1, may_wait)),
            10 => Step::Inject(self.steps(depth - 1, may_wait)),
            _ => Step::Install(self.steps(depth - 1, false)),
        }
    }
}

/// An event, and the workers that wait for it.
#[derive(Default)]
struct Event {
    waiting: Mutex<Vec<Blocked>>,
    opened: Condvar,
    /// Changed under the lock; read without it by the handler.
    is_open: AtomicBool,
}

impl Event {
    fn lock(&self) -> MutexGuard<'_, Vec<Blocked>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait(&self, number: usize, in_section: bool) {
        let label = number.to_string();
        // Under the lock, so that the thread which brings about the event finds the ticket.
        let mut waiting = self.lock();
        if self.is_open.load(SeqCst) {
            return;
        }
        if in_section {
            blocking(label, |blocked| {
                waiting.push(blocked.clone());
                self.wait_until_open(waiting);
            });
        } else {
            waiting.push(mark_blocked(label).unwrap());
            self.wait_until_open(waiting);
        }
    }

    fn wait_until_open(&self, waiting: MutexGuard<'_, Vec<Blocked>>) {
        let is_closed = |_: &mut Vec<Blocked>| !self.is_open.load(SeqCst);
        drop(self.opened.wait_while(waiting, is_closed).unwrap());
    }
}

/// Everything of one history that several threads share.
struct World {
    seed: u64,
    actors: Actors,
    events: [Event; EVENTS],
    /// How many steps have been begun.
    progress: AtomicU64,
    runnable: AtomicUsize,
    other: Option<ThreadPool>,
    /// To the thread outside.
    injections: Mutex<Sender<Injection>>,
    /// Jobs that were injected and have not ended.
    injected: AtomicUsize,
}

type Injection = Arc<Vec<Step>>;

impl World {
    fn run<'scope>(self: &'scope Arc<Self>, steps: &'scope [Step], scope: Option<&Scope<'scope>>) {
        for step in steps {
            self.progress.fetch_add(1, SeqCst);
            match step {
                Step::Wait { event, in_section } => self.events[*event].wait(*event, *in_section),
                Step::Open(events) => self.open(events),
                Step::Compute(rounds) => (0..*rounds).for_each(|_| std::hint::spin_loop()),
                Step::Spawn(steps) => match scope {
                    Some(scope) => scope.spawn(move |scope| self.run(steps, Some(scope))),
                    None => pool_std::scope(|scope| {
                        scope.spawn(move |scope| self.run(steps, Some(scope)));
                    }),
                },
                Step::Join(first, second) => {
                    join(|| self.run(first, None), || self.run(second, None));
                }
                Step::Inject(steps) => {
                    self.injected.fetch_add(1, SeqCst);
                    let job = Arc::new(steps.iter().map(Step::copy).collect());
                    self.injections.lock().unwrap().send(job).unwrap();
                }
                Step::Install(steps) => {
                    let other = self.other.as_ref().expect("with all actors");
                    other.install(|| self.run(steps, None));
                }
            }
        }
    }

    /// Brings about events, as a query that ends does: unmarks all waiters, and then lets them go on.
    fn open(&self, events: &[usize]) {
        let mut events: Vec<_> = events.to_vec();
        // In one order, because all are locked at once.
        events.sort_unstable();
        events.dedup();
        let mut locked: Vec<_> = events
            .iter()
            .map(|&event| self.events[event].lock())
            .collect();
        let tickets: Vec<_> = locked
            .iter_mut()
            .flat_map(|tickets| tickets.drain(..))
            .collect();
        mark_all_unblocked(tickets).unwrap();
        for &event in &events {
            self.events[event].is_open.store(true, SeqCst);
            self.events[event].opened.notify_all();
        }
    }

    /// Ends a deadlock: opens one of the events, or all, for which workers wait.
    fn break_deadlock(&self, reported: &Reported, random: &mut Random) {
        let labels = reported
            .report
            .blocked()
            .map(|worker| worker.label().unwrap());
        let events: Vec<usize> = labels.map(|label| label.parse().unwrap()).collect();
        assert!(
            !events.is_empty(),
            "seed {}: {}",
            self.seed,
            reported.report
        );
        if random.below(2) == 0 {
            self.open(&events);
        } else {
            self.open(&[events[random.below(events.len())]]);
        }
    }
}

impl Step {
    fn copy(&self) -> Self {
        let copy = |steps: &Vec<Self>| steps.iter().map(Self::copy).collect();
        match self {
            Self::Wait { event, in_section } => Self::Wait {
                event: *event,
                in_section: *in_section,
            },
            Self::Open(events) => Self::Open(events.clone()),
            Self::Compute(rounds) => Self::Compute(*rounds),
            Self::Spawn(steps) => Self::Spawn(copy(steps)),
            Self::Join(first, second) => Self::Join(copy(first), copy(second)),
            Self::Inject(steps) => Self::Inject(copy(steps)),
            Self::Install(steps) => Self::Install(copy(steps)),
        }
    }
}

/// What the handler saw.
struct Reported {
    report: DeadlockReport,
    progress: u64,
}

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
        .idle_policy(policies[random.below(2)])
        .acquire_thread_handler(move || _ = acquired.runnable.fetch_add(1, SeqCst))
        .release_thread_handler(move || {
            assert!(released.runnable.fetch_sub(1, SeqCst) > 0);
        })
        .deadlock_handler(move |report| {
            for label in report.blocked().filter_map(|worker| worker.label()) {
                let event: usize = label.parse().unwrap();
                // The event may only happen after its waiters were unmarked, which this lock prevents.
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
        other: (actors == Actors::All).then(other),
        injections: Mutex::new(injections),
        injected: AtomicUsize::new(0),
    });
    let (pool, reports) = build(&world, workers, &mut random);
    let pool = Arc::new(pool);
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
