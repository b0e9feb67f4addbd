//! The cycles of the suite, for every place where workers sleep. The program that includes this
//! says whether its pools have metrics.

mod pinned;
mod short;
mod watchdog;

use std::{
    process,
    sync::{
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
        mpsc,
    },
    thread,
    time::Instant,
};

use pool_std::{IdlePolicy, SleepKind, ThreadPool, ThreadPoolBuilder, join, spawn};

/// Chooses where the workers sleep.
type Choose = fn(ThreadPoolBuilder) -> ThreadPoolBuilder;

/// How many wake-ups of workers a test asks for.
fn wakes() -> u64 {
    let default = if cfg!(miri) { 6 } else { 600 };
    std::env::var("SLEEP_CYCLES").map_or(default, |wakes| {
        wakes.parse().expect("SLEEP_CYCLES is a number")
    })
}

/// How many cycles are not short.
fn cycles(policy: IdlePolicy) -> u64 {
    let least = match policy {
        _ if cfg!(miri) => 2,
        IdlePolicy::IMMEDIATE => 160,
        // Each takes longer, since workers yield many times before they sleep.
        _ => 40,
    };
    least.max(wakes() / 1_000)
}

pub(crate) fn conforms(name: &str, kind: SleepKind, choose: Choose) {
    for (policy, policy_name) in [
        (IdlePolicy::IMMEDIATE, "no rounds"),
        (IdlePolicy::DEFAULT, "default rounds"),
    ] {
        let name = format!("{name}, {policy_name}");
        watchdog::watch(&name, |progress| {
            let cycles = cycles(policy);
            let start = Instant::now();
            let per_pool = (cycles / 8).clamp(1, 64) as usize;
            let mut woken = 0;
            for (number, first) in (0..cycles).step_by(per_pool).enumerate() {
                let pool = Pool::new(number, kind, choose, policy);
                for cycle in (first..cycles).take(per_pool) {
                    pool.cycle(cycle);
                    progress.step();
                }
                woken += pool.end(number);
            }
            let time = start.elapsed();
            println!("{name}: {cycles} cycles, {woken} wakes of workers, in {time:?}");

            let start = Instant::now();
            let total = short_cycles(kind, choose, policy, progress);
            let (time, short::Total { cycles, wakes }) = (start.elapsed(), total);
            println!("{name}: {cycles} short cycles, {wakes} wakes of workers, in {time:?}");
        });
    }
}

/// Shares the wake-ups among pools of one to three workers, with and without process fences.
fn short_cycles(
    kind: SleepKind,
    choose: Choose,
    policy: IdlePolicy,
    progress: &watchdog::Progress,
) -> short::Total {
    const POOLS: usize = 6;
    let mut sum = short::Total::default();
    for number in 0..POOLS {
        let builder = builder(number % 3 + 1, kind, choose, policy).overlook_no_jobs(number >= 3);
        let pool = pinned::build(if crate::HAS_METRICS {
            // The metrics tell which workers sleep, without the lock that an account takes at each
            // sleep.
            builder
        } else {
            builder.deadlock_handler(|_| process::abort())
        });
        let total = short::cycles(&pool, wakes().div_ceil(POOLS as u64), progress);
        sum.cycles += total.cycles;
        sum.wakes += total.wakes;
        pool.shutdown().unwrap();
    }
    assert!(sum.wakes >= wakes());
    sum
}

fn builder(
    workers: usize,
    kind: SleepKind,
    choose: Choose,
    policy: IdlePolicy,
) -> ThreadPoolBuilder {
    choose(ThreadPoolBuilder::new())
        .num_threads(workers)
        .sleep(kind)
        .idle_policy(policy)
}

/// Waits until this number of workers sleep. That they do is a fact that comes true: no other
/// thread uses the pool.
fn wait_for_asleep(pool: &ThreadPool, workers: usize) {
    while pool.state().asleep().count() < workers {
        thread::yield_now();
    }
}

/// A pool, and another one whose worker calls it.
struct Pool {
    pool: ThreadPool,
    caller: ThreadPool,
    workers: usize,
}

impl Pool {
    /// Builds pools of each number of workers, with and without process fences.
    fn new(number: usize, kind: SleepKind, choose: Choose, policy: IdlePolicy) -> Self {
        let build = |workers| {
            let builder = builder(workers, kind, choose, policy)
                .overlook_no_jobs(number % 8 >= 4)
                // The handler makes the pool keep an account of which workers sleep. No job blocks.
                .deadlock_handler(|_| process::abort());
            pinned::build(builder)
        };
        let workers = number % 4 + 1;
        Self {
            pool: build(workers),
            caller: build(1),
            workers,
        }
    }

    fn cycle(&self, cycle: u64) {
        wait_for_asleep(&self.pool, self.workers);
        self.wake(cycle, true);
        // In another order, so that each comes after each.
        self.wake(cycle * 3 + cycle / 7, self.pool.overlooks_no_jobs());
    }

    /// Ends the pool, every second time when its workers sleep. Returns how often its workers were
    /// woken.
    fn end(self, number: usize) -> u64 {
        if number.is_multiple_of(2) {
            wait_for_asleep(&self.pool, self.workers);
        }
        let wakes = self.pool.metrics().sum().wakes + self.caller.metrics().sum().wakes;
        self.pool.shutdown().unwrap();
        self.caller.shutdown().unwrap();
        wakes
    }

    /// Wakes the pool in one of the ways. `is_seen` says whether a sleeping worker cannot overlook
    /// the second half of a join.
    fn wake(&self, way: u64, is_seen: bool) {
        match way % 7 {
            0 => assert_eq!(self.pool.install(|| way), way),
            1 => self.spawn_from_outside((way / 7 % 5) as usize + 1),
            2 => self.join(is_seen),
            3 => self.set_latch_of_sleeper(),
            4 => self.call_from_another_pool(),
            5 => self.spawn_in_a_scope(),
            _ => assert_eq!(
                self.pool.broadcast(|context| context.index()).len(),
                self.workers
            ),
        }
    }

    fn spawn_from_outside(&self, jobs: usize) {
        let (sender, receiver) = mpsc::channel();
        for job in 0..jobs {
            let sender = sender.clone();
            self.pool.spawn(move || {
                // One more, by a worker that does not wait for it.
                spawn(move || sender.send(job).unwrap());
            });
        }
        drop(sender);
        assert_eq!(receiver.iter().sum::<usize>(), jobs * (jobs - 1) / 2);
    }

    /// Joins. If the second half is seen, the first half waits until another worker has begun it.
    fn join(&self, is_seen: bool) {
        let has_begun = AtomicBool::new(false);
        let waits = is_seen && self.workers > 1;
        let first = || {
            while waits && !has_begun.load(SeqCst) {
                thread::yield_now();
            }
        };
        self.pool
            .install(|| join(first, || has_begun.store(true, SeqCst)));
        assert!(has_begun.into_inner());
    }

    /// Makes a worker sleep until another one has run a job, and all others sleep as well.
    fn set_latch_of_sleeper(&self) {
        self.pool.install(|| {
            let caller = self.pool.current_thread_index().unwrap();
            let last = (caller + 1) % self.workers;
            let done = AtomicUsize::new(0);
            self.pool.broadcast(|context| {
                if self.workers > 1 && context.index() == last {
                    wait_for_asleep(&self.pool, self.workers - 1);
                }
                done.fetch_add(1, SeqCst);
            });
            assert_eq!(done.into_inner(), self.workers);
        });
    }

    /// Makes a worker of another pool wait for a latch that a worker of this pool sets.
    fn call_from_another_pool(&self) {
        let sum = self
            .caller
            .install(|| self.pool.install(|| join(|| 1, || 2)));
        assert_eq!(sum, (1, 2));
    }

    fn spawn_in_a_scope(&self) {
        let done = AtomicUsize::new(0);
        self.pool.scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|scope| {
                    scope.spawn(|_| _ = done.fetch_add(1, SeqCst));
                    done.fetch_add(1, SeqCst);
                });
            }
        });
        assert_eq!(done.into_inner(), 6);
    }
}
