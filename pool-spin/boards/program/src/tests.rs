//! The tests, from the simplest to the one that ends the pool.

use core::{hint::spin_loop, time::Duration};

use pool_spin::{Arena, ReleaseError, SpawnErrorReason, WorkerMetrics};
use portable_atomic::{AtomicUsize, Ordering};

use crate::{
    JOBS, Pool, Worker,
    board::Board,
    console::Console,
    restart::restart,
    timer::{sleep_until_timer, while_interrupted},
};

/// The number of times that all cores sleep and are woken, as one of the tests.
const ROUNDS: u64 = 1000;

/// Runs all tests. A failure panics.
pub(crate) fn run<B: Board, const CORES: usize>(pool: &'static Pool<B, CORES>) {
    let test = |name: &str, test: fn(&'static Pool<B, CORES>)| timed::<B>(name, || test(pool));
    test("smoke", smoke);
    if CORES > 1 {
        test("from_outside", from_outside);
    }
    test("fork_join_tree", |pool| {
        on_boot_core(pool, fork_join_tree);
    });
    test("scope", |pool| on_boot_core(pool, scope));
    test("spawn", |pool| {
        on_boot_core(pool, |worker| spawn(pool, worker));
    });
    test("spawn_from_an_interrupt", spawn_from_an_interrupt);
    test("interrupts_while_working", interrupts_while_working);
    test("park_and_unpark", |pool| park_and_unpark(pool, ROUNDS));
    test("stampede", stampede);
    test("overflow", |pool| on_boot_core(pool, overflow));
    test("leave_and_come_back", leave_and_come_back);
    test("end_and_restart", end_and_restart);
}

/// Runs one test, and prints that it has passed.
pub(crate) fn timed<B: Board>(name: &str, test: impl FnOnce()) {
    let start = B::now();
    test();
    let time = B::now() - start;
    Console::<B>::line(format_args!("test {name}: ok ({} us)", time.as_micros()));
}

/// Runs a closure on the core that boots, as worker 0.
fn on_boot_core<B: Board, const CORES: usize, R>(
    pool: &'static Pool<B, CORES>,
    body: impl FnOnce(Worker<'_, B, CORES>) -> R,
) -> R {
    pool.run_with(0, body).expect("the place is free")
}

/// Checks that all workers arrive, and that each knows its number.
fn smoke<B: Board, const CORES: usize>(pool: &'static Pool<B, CORES>) {
    on_boot_core(pool, |worker| {
        assert_eq!(worker.index(), 0);
        wait_for_all(pool);
        let numbers = pool.broadcast(|worker| worker.index());
        for (index, number) in numbers.iter().enumerate() {
            assert_eq!(*number, Some(index));
        }
        assert_eq!(worker.join(|_| 1, |_| 2), (1, 2));
    });
}

/// Passes work from the core that boots, which is not a worker, to the other cores.
fn from_outside<B: Board, const CORES: usize>(pool: &'static Pool<B, CORES>) {
    assert!(pool.with_current_worker(|worker| worker.is_none()));
    let (a, b) = pool.install(|worker| worker.join(|a| a.index(), |b| b.index()));
    assert!(a != 0 && b != 0);
    let runs = AtomicUsize::new(0);
    let arena = Arena::<4>::new();
    pool.in_place_scope(&arena, |scope| {
        for _ in 0..16 {
            scope.spawn(|worker, _| {
                runs.fetch_add(worker.index().min(1), Ordering::Relaxed);
            });
        }
    });
    assert_eq!(runs.into_inner(), 16);
    let numbers = pool.broadcast(|worker| worker.index());
    assert_eq!(numbers[0], None);
}

/// Waits until every place has its worker.
pub(crate) fn wait_for_all<B: Board, const CORES: usize>(pool: &'static Pool<B, CORES>) {
    while pool.broadcast(|_| ()).contains(&None) {
        spin_loop();
    }
}

/// The number of leaves of the tree.
pub(crate) const LEAVES: usize = 1 << 12;

/// Computes a balanced tree with some arithmetic in each leaf, and checks the result. Returns the
/// number of leaves that each worker has run.
pub(crate) fn fork_join_tree<B: Board, const CORES: usize>(
    worker: Worker<'_, B, CORES>,
) -> [usize; CORES] {
    fn sum<B: Board, const CORES: usize>(
        worker: Worker<'_, B, CORES>,
        first: usize,
        count: usize,
        shares: &[AtomicUsize; CORES],
    ) -> usize {
        if count == 1 {
            shares[worker.index()].fetch_add(1, Ordering::Relaxed);
            return leaf(first);
        }
        let half = count / 2;
        let (a, b) = worker.join(
            |worker| sum(worker, first, half, shares),
            |worker| sum(worker, first + half, half, shares),
        );
        a.wrapping_add(b)
    }

    let shares = [const { AtomicUsize::new(0) }; CORES];
    let expected = (0..LEAVES).map(leaf).fold(0, usize::wrapping_add);
    assert_eq!(sum(worker, 0, LEAVES, &shares), expected);
    let shares = shares.map(AtomicUsize::into_inner);
    assert_eq!(shares.iter().sum::<usize>(), LEAVES);
    shares
}

/// Computes something that a compiler cannot shorten.
fn leaf(seed: usize) -> usize {
    (0..100).fold(seed, |value, _| {
        core::hint::black_box(value)
            .wrapping_mul(1_664_525)
            .wrapping_add(1_013_904_223)
    })
}

/// Closures that spawn others and borrow from this frame.
fn scope<B: Board, const CORES: usize>(worker: Worker<'_, B, CORES>) {
    let count = AtomicUsize::new(0);
    let counts = [const { AtomicUsize::new(0) }; 8];
    worker.scope(|scope| {
        for own in &counts {
            scope.spawn(|_, scope| {
                own.fetch_add(1, Ordering::Relaxed);
                for _ in 0..8 {
                    scope.spawn(|_, _| {
                        count.fetch_add(1, Ordering::Relaxed);
                    });
                }
            });
        }
    });
    assert_eq!(count.into_inner(), 64);
    assert!(counts.iter().all(|own| own.load(Ordering::Relaxed) == 1));
}

/// Spawns closures in the background until there is no room, references to static ones included.
fn spawn<B: Board, const CORES: usize>(
    pool: &'static Pool<B, CORES>,
    worker: Worker<'_, B, CORES>,
) {
    static RUNS: AtomicUsize = AtomicUsize::new(0);
    static TALLY: &(dyn Fn() + Sync) = &|| {
        RUNS.fetch_add(1, Ordering::Relaxed);
    };
    RUNS.store(0, Ordering::Relaxed);
    let mut spawned = 0;
    while spawned < 4 * JOBS {
        let spawn = pool.spawn(|worker| {
            TALLY();
            worker.spawn(|_| TALLY());
        });
        match spawn {
            Ok(()) => spawned += 1,
            // A worker must make room, and this may be the only one.
            Err(error) => {
                assert_eq!(error.reason, SpawnErrorReason::Full);
                worker.yield_now();
            }
        }
    }
    while RUNS.load(Ordering::Relaxed) < 2 * spawned {
        worker.yield_now();
    }
}

/// Wakes a core by a handler's job, while every core sleeps.
fn spawn_from_an_interrupt<B: Board, const CORES: usize>(pool: &'static Pool<B, CORES>) {
    for round in 0..50 {
        // Some delays are so short that the core is still on its way to sleep.
        sleep_until_timer(pool, Duration::from_micros(round * 20));
    }
}

/// Handlers spawn, in the middle of whatever the core that boots does to its deque.
fn interrupts_while_working<B: Board, const CORES: usize>(pool: &'static Pool<B, CORES>) {
    let mut spawned = 0;
    while spawned < 200 {
        spawned += while_interrupted(pool, || {
            on_boot_core(pool, fork_join_tree);
            on_boot_core(pool, scope);
        });
    }
}

/// Lets all cores sleep and wake each other, as many times as `rounds` says.
pub(crate) fn park_and_unpark<B: Board, const CORES: usize>(
    pool: &'static Pool<B, CORES>,
    rounds: u64,
) {
    if CORES == 1 {
        // Only the timer can wake the core. An emulated core may take longer than the delay to fall
        // asleep; then the next delay is longer.
        let sleeps = || metrics(pool, 0).counts.sleeps;
        let mut delay = Duration::from_micros(50);
        for _ in 0..rounds {
            let before = sleeps();
            sleep_until_timer(pool, delay);
            while sleeps() == before {
                delay *= 2;
                sleep_until_timer(pool, delay);
            }
        }
        return;
    }
    let sleeps =
        || core::array::from_fn::<u64, CORES, _>(|index| metrics(pool, index).counts.sleeps);
    on_boot_core(pool, |_| {
        for _ in 0..rounds {
            let before = sleeps();
            pool.broadcast(|worker| {
                // The core that boots runs its closure and then waits for the others, which let it
                // fall asleep first.
                while worker.index() != 0 && sleeps()[0] == before[0] {
                    spin_loop();
                }
            });
            // All other cores have run their closures and fall asleep.
            while (1..CORES).any(|index| sleeps()[index] == before[index]) {
                spin_loop();
            }
        }
    });
    for index in 0..CORES {
        let worker = metrics(pool, index);
        let counts = worker.counts;
        assert!(counts.sleeps >= rounds, "{} sleeps", counts.sleeps);
        // No thread has woken this worker from its last sleep yet.
        assert!(counts.wakes + 1 >= counts.sleeps, "{} wakes", counts.wakes);
        // There are times if and only if the board has a clock for them.
        assert_eq!(worker.times.is_some(), B::nanoseconds().is_some());
        assert!(worker.times.is_none_or(|times| !times.asleep.is_zero()));
    }
}

fn metrics<B: Board, const CORES: usize>(
    pool: &'static Pool<B, CORES>,
    index: usize,
) -> WorkerMetrics {
    let worker = pool.worker_metrics(index);
    worker.expect("there is such a worker")
}

/// Spawns on every core as fast as it can, while every core steals from all others.
fn stampede<B: Board, const CORES: usize>(pool: &'static Pool<B, CORES>) {
    const EACH: usize = 500;
    let runs = AtomicUsize::new(0);
    let arena = Arena::<16>::new();
    on_boot_core(pool, |worker| {
        worker.scope_in(&arena, |scope| {
            pool.broadcast(|_| {
                for _ in 0..EACH {
                    scope.spawn(|worker, _| {
                        worker.join(
                            |_| runs.fetch_add(1, Ordering::Relaxed),
                            |_| runs.fetch_add(1, Ordering::Relaxed),
                        );
                    });
                }
            });
        });
    });
    assert_eq!(runs.into_inner(), 2 * CORES * EACH);
}

/// Makes more jobs than a deque has room for: by nested joins, and by a scope.
fn overflow<B: Board, const CORES: usize>(worker: Worker<'_, B, CORES>) {
    fn deep<B: Board, const CORES: usize>(worker: Worker<'_, B, CORES>, depth: usize) -> usize {
        if depth == 0 {
            return 0;
        }
        let (a, b) = worker.join(|worker| deep(worker, depth - 1), |_| 1);
        a + b
    }
    // Only a few more than the deque holds: some boards have a stack of a few KiB.
    assert_eq!(deep(worker, JOBS + 8), JOBS + 8);

    let runs = AtomicUsize::new(0);
    worker.scope(|scope| {
        for _ in 0..2 * JOBS {
            scope.spawn(|_, _| {
                runs.fetch_add(1, Ordering::Relaxed);
            });
        }
    });
    assert_eq!(runs.into_inner(), 2 * JOBS);
}

/// Releases workers while there is work. They arrive again.
fn leave_and_come_back<B: Board, const CORES: usize>(pool: &'static Pool<B, CORES>) {
    on_boot_core(pool, |worker| {
        for round in 0..20 {
            for index in 1..CORES {
                // The worker may still be on its way back from the last round.
                while pool.release_worker(index) == Err(ReleaseError::Absent) {
                    spin_loop();
                }
            }
            assert_eq!(worker.join(|_| round, |_| round + 1), (round, round + 1));
        }
        wait_for_all(pool);
    });
}

/// Ends the pool, lets all workers leave, and restarts it.
fn end_and_restart<B: Board, const CORES: usize>(pool: &'static Pool<B, CORES>) {
    for _ in 0..5 {
        restart(pool);
        smoke(pool);
    }
}
