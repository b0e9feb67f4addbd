//! What a pool tells of its workers.

#![cfg(feature = "metrics")]

use std::{
    hint::spin_loop,
    sync::{
        Barrier,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    time::{Duration, Instant},
};

use pool_std::{
    Counts, IdlePolicy, ThreadPool, ThreadPoolBuilder, WorkerState, current_metrics,
    current_thread_index, isolate, join,
};

fn pool(num_threads: usize) -> ThreadPool {
    ThreadPoolBuilder::new()
        .num_threads(num_threads)
        .idle_policy(IdlePolicy::IMMEDIATE)
        .build()
        .unwrap()
}

/// Waits until each worker is in this state.
fn wait_for_all(pool: &ThreadPool, state: WorkerState) {
    while pool.metrics().num_in(state) < pool.current_num_threads() {
        std::thread::yield_now();
    }
}

#[test]
fn workers_that_have_nothing_to_do_sleep() {
    let pool = pool(3);
    wait_for_all(&pool, WorkerState::Asleep);
    let metrics = pool.metrics();
    for worker in metrics.workers() {
        assert_eq!((worker.state, worker.queued), (WorkerState::Asleep, 0));
        assert_eq!(worker.counts.sleeps, worker.counts.wakes + 1);
        assert_eq!(worker.counts.jobs_run, 0);
    }
    assert_eq!(
        (metrics.injector_len(), metrics.injector_is_empty()),
        (Some(0), true)
    );
    assert!(metrics.sum_of_times().unwrap().asleep > Duration::ZERO);
}

#[test]
fn a_stolen_join_is_two_jobs_and_a_steal() {
    let pool = pool(2);
    wait_for_all(&pool, WorkerState::Asleep);
    let before = pool.metrics().sum();
    let barrier = Barrier::new(2);
    let meet = || {
        barrier.wait();
    };
    pool.install(|| join(meet, meet));
    let counts = pool.metrics().sum() - before;
    assert_eq!((counts.jobs_run, counts.steals_succeeded), (2, 1));
    assert_eq!(counts.jobs_posted, 0, "a join posts nothing");
    assert!(counts.wakes >= 2, "both workers slept");
}

#[test]
fn joins_that_no_thief_takes_count_nothing() {
    fn fib(n: u32) -> u32 {
        if n < 2 {
            return n;
        }
        let (a, b) = join(|| fib(n - 1), || fib(n - 2));
        a + b
    }
    let pool = pool(1);
    let counts = pool.install(|| {
        let before = current_metrics().sum();
        assert_eq!(fib(12), 144);
        current_metrics().sum() - before
    });
    assert_eq!(counts, Counts::default());
}

/// It waits for the half of a join that the other worker has stolen, and is woken for the jobs of
/// that half, which the other worker takes back at once.
#[test]
fn wake_ups_in_vain_count_in_an_isolated_wait() {
    let pool = pool(2);
    let is_stolen = AtomicBool::new(false);
    let wait_for_theft = || {
        while !is_stolen.load(SeqCst) {
            std::thread::yield_now();
        }
    };
    let sum = || current_metrics().sum();
    let half = || {
        is_stolen.store(true, SeqCst);
        let before = sum();
        while sum().fruitless_wakes == before.fruitless_wakes && (sum() - before).wakes < 100_000 {
            while current_metrics().num_in(WorkerState::Asleep) == 0 {
                std::thread::yield_now();
            }
            join(|| (), || ());
        }
        sum() - before
    };
    let (_, counts) = pool.install(|| isolate(|| join(wait_for_theft, half)));
    assert!(counts.fruitless_wakes > 0, "{counts:?}");
}

#[test]
fn debug_output_fits_into_a_terminal() {
    for workers in [1, 3] {
        let pool = pool(workers);
        pool.install(|| join(|| (), || ()));
        let text = format!("{pool:#?}\n{:#?}\n{}", pool.metrics(), pool.state());
        let widest = text.lines().map(str::len).max();
        assert!(widest <= Some(100), "{text}");
    }
}

#[test]
fn queues_have_lengths() {
    let pool = pool(1);
    let (queued, injected, posted) = pool.install(|| {
        for _ in 0..5 {
            pool_std::spawn(|| ());
        }
        std::thread::scope(|threads| {
            threads.spawn(|| pool.spawn(|| ()));
        });
        let metrics = pool.metrics();
        let worker = metrics.workers()[0];
        assert_eq!(worker.state, WorkerState::Active);
        (
            worker.queued,
            metrics.injector_len(),
            metrics.sum().jobs_posted,
        )
    });
    assert_eq!((queued, injected, posted), (5, Some(1), 5));
}

#[test]
fn a_worker_is_absent_before_its_thread_runs() {
    let mut threads = Vec::new();
    let pool = ThreadPoolBuilder::new()
        .num_threads(1)
        .spawn_handler(|thread| {
            threads.push(thread);
            Ok(())
        })
        .build()
        .unwrap();
    let worker = pool.metrics().workers()[0];
    assert_eq!((worker.state, worker.times), (WorkerState::Absent, None));
}

#[test]
fn a_worker_that_computes_is_active() {
    let pool = pool(2);
    // How long a round takes, a slow machine decides; whether the other worker was woken in it, a
    // counter says.
    let other_slept_on = || {
        wait_for_all(&pool, WorkerState::Asleep);
        let before = pool.metrics();
        let worker = pool.install(|| {
            let start = Instant::now();
            while start.elapsed() < Duration::from_millis(20) {
                spin_loop();
            }
            current_thread_index().unwrap()
        });
        let after = pool.metrics();
        let [times, other_times] = [worker, 1 - worker].map(|index| {
            let [before, after] = [&before, &after].map(|metrics| metrics.workers()[index].times);
            after.unwrap().since(before.unwrap())
        });
        assert!(times.active >= Duration::from_millis(19), "{times:?}");
        let [sleeps, sleeps_after] =
            [&before, &after].map(|metrics| metrics.workers()[1 - worker].counts);
        if sleeps_after != sleeps {
            return false;
        }
        assert!(
            other_times.asleep >= Duration::from_millis(19),
            "{other_times:?}"
        );
        assert_eq!(other_times.active, Duration::ZERO);
        true
    };
    while !other_slept_on() {}
}

#[test]
fn a_pool_prints_one_line_or_a_table() {
    let pool = pool(2);
    // From now on the answer, which is in the line, stays the same.
    let _is_known = pool_std::ProcessBarrier::is_by_system();
    let line = format!("{pool:?}");
    assert!(
        line.starts_with("ThreadPool { num_threads: 2, ") && !line.contains('\n'),
        "{line}"
    );
    let table = format!("{pool:#?}");
    assert!(
        table.starts_with("ThreadPool {\n    num_threads: 2,\n"),
        "{table}"
    );
    let (_, table) = table.split_once("}\n").unwrap();
    let lines: Vec<_> = table.lines().collect();
    assert!(lines[0].starts_with("worker  state"), "{table}");
    assert!(lines[3].starts_with("   sum"), "{table}");
    assert_eq!(lines.last(), Some(&"jobs from outside: 0"));
}
