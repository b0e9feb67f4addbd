use std::{
    collections::HashSet,
    hash::{DefaultHasher, Hash, Hasher},
    panic::{catch_unwind, resume_unwind},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use super::{shrink::shrink, *};
use crate::{Scope, ThreadPool, ThreadPoolBuilder, join, scope};

type Order = Arc<Mutex<Vec<u32>>>;

mod builds;

fn pool(seed: u64) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(3);
    builder.seeded(seed).build().unwrap()
}

fn tree(depth: u32, number: u32, order: &Order) {
    order.lock().unwrap().push(number);
    if depth > 0 {
        join(
            || tree(depth - 1, 2 * number, order),
            || tree(depth - 1, 2 * number + 1, order),
        );
        order.lock().unwrap().push(number + 1000);
    }
}

/// Returns the order in which a program runs its jobs. It has joins, scopes, panics and an inner
/// pool.
fn order_of(seed: u64) -> Vec<u32> {
    let order = Order::default();
    let pool = pool(seed);
    pool.install(|| {
        tree(3, 1, &order);
        scope(|scope| {
            for number in 0..5 {
                let order = &order;
                scope.spawn(move |_| tree(1, 100 + 10 * number, order));
            }
        });
        let panicked =
            catch_unwind(|| join(|| tree(0, 200, &order), || resume_unwind(Box::new(()))));
        assert!(panicked.is_err());
        let inner = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        assert_eq!(
            inner.sleep_kind(),
            crate::SleepKind::Seeded,
            "it takes turns with the other"
        );
        inner.install(|| tree(2, 300, &order));
        inner.shutdown().unwrap();
        tree(0, 400, &order);
    });
    pool.shutdown().unwrap();
    Arc::into_inner(order).unwrap().into_inner().unwrap()
}

/// FNV-1a, which is the same everywhere.
fn digest(orders: impl IntoIterator<Item = Vec<u32>>) -> u64 {
    let bytes = orders.into_iter().flatten().flat_map(u32::to_le_bytes);
    bytes.fold(0xCBF2_9CE4_8422_2325, |digest, byte| {
        (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
    })
}

#[test]
fn a_seed_gives_one_order() {
    let count = if cfg!(miri) { 1 } else { 100 };
    let mut orders = HashSet::new();
    for seed in 0..count {
        let order = order_of(seed);
        assert_eq!(order, order_of(seed), "seed {seed}");
        orders.insert(order);
    }
    assert!(orders.len() as u64 > count / 2, "{}", orders.len());
}

/// The orders change when a worker comes to other points than before, but not with the machine.
#[test]
fn the_orders_are_the_same_on_every_machine() {
    // Under Miri deques grow at their third job, so that workers have rings to free.
    let (count, expected) = if cfg!(miri) {
        (1, 5_942_171_744_744_135_538)
    } else {
        (100, 14_960_949_329_896_458_357)
    };
    assert_eq!(digest((0..count).map(order_of)), expected);
}

#[cfg(not(miri))]
#[test]
fn an_order_repeats_if_workers_block_for_each_other() {
    fn order(seed: u64) -> Vec<u32> {
        let pool = pool(seed);
        let order = Mutex::new(Vec::new());
        pool.scope(|scope| {
            for number in 0..6 {
                let order = &order;
                scope.spawn(move |_| {
                    let mut order = order.lock().unwrap();
                    order.push(number);
                    // Another worker may take one of these, and wait for the lock.
                    crate::spawn(|| ());
                    crate::isolate(|| join(|| (), || ()));
                    order.push(10 + number);
                });
            }
        });
        order.into_inner().unwrap()
    }

    // Where the system does not report which threads wait, each wait takes long, and the order may
    // vary.
    let tells = cfg!(any(target_os = "linux", target_os = "android"));
    for seed in 0..if tells { 30 } else { 1 } {
        let first = order(seed);
        assert_eq!(first.len(), 12);
        if tells {
            assert_eq!(first, order(seed), "seed {seed}");
        }
    }
}

/// A worker that waits in an isolated call sleeps without the knowledge of the sleep protocol.
#[cfg(not(miri))]
#[test]
fn one_worker_runs_at_a_time_in_isolated_calls() {
    static IS_RUNNING: AtomicBool = AtomicBool::new(false);

    fn work() {
        assert!(!IS_RUNNING.swap(true, SeqCst), "another worker runs");
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_millis(1) {
            std::hint::spin_loop();
        }
        IS_RUNNING.store(false, SeqCst);
    }

    for seed in 0..100 {
        let pool = pool(seed);
        let (sender, receiver) = mpsc::channel();
        let is_over = &AtomicBool::new(false);
        pool.scope(|outer| {
            outer.spawn(move |_| {
                let job = |_: &Scope<'_>| {
                    join(work, || ());
                    work();
                };
                crate::isolate(|| {
                    scope(|inner| _ = sender.send(crate::spawn_handle_in(inner, job)));
                });
                work();
                is_over.store(true, SeqCst);
            });
            outer.spawn(move |_| {
                while !is_over.load(SeqCst) {
                    if let Ok(handle) = receiver.try_recv() {
                        // If this worker runs the job, the other one sleeps until the job has
                        // ended.
                        handle.join().unwrap();
                        work();
                    }
                    crate::yield_now();
                }
            });
        });
        pool.shutdown().unwrap();
    }
}

/// The thread of a parked worker wakes up at a time that the schedule does not control.
#[test]
fn an_order_repeats_if_workers_are_parked_and_revived() {
    fn order(seed: u64) -> Vec<u32> {
        let order = Order::default();
        let pool = pool(seed);
        pool.install(|| {
            for _ in 0..5 {
                pool.set_active_workers(1).unwrap();
                tree(2, 1, &order);
                crate::broadcast(|context| tree(1, 100 * context.index() as u32, &order));
                pool.set_active_workers(3).unwrap();
                tree(2, 1, &order);
            }
        });
        pool.shutdown().unwrap();
        Arc::into_inner(order).unwrap().into_inner().unwrap()
    }

    for seed in 0..if cfg!(miri) { 1 } else { 100 } {
        assert_eq!(order(seed), order(seed), "seed {seed}");
    }
}

/// On a busy machine, the workers took more than a second to run out of jobs. The next call from
/// outside arrived before that, and the order varied.
#[cfg(not(miri))]
#[test]
fn a_call_returns_when_slow_workers_have_come_to_rest() {
    let pool = pool(1);
    let is_done = Arc::new(AtomicBool::new(false));
    let job = is_done.clone();
    pool.spawn(move || {
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_millis(1500) {
            let slice = Instant::now();
            while slice.elapsed() < Duration::from_millis(10) {
                std::hint::spin_loop();
            }
            crate::yield_now();
        }
        job.store(true, SeqCst);
    });
    pool.install(|| ());
    assert!(is_done.load(SeqCst));
}

/// The workers may poll for something that the caller does next.
#[cfg(not(miri))]
#[test]
fn a_call_returns_although_a_worker_never_comes_to_rest() {
    let pool = pool(1);
    let has_returned = Arc::new(AtomicBool::new(false));
    let job = has_returned.clone();
    pool.spawn(move || {
        while !job.load(SeqCst) {
            crate::yield_now();
        }
    });
    pool.install(|| ());
    has_returned.store(true, SeqCst);
    pool.shutdown().unwrap();
}

/// Checks that a listed schedule repeats what the generator has chosen.
#[test]
fn the_switches_of_a_run_repeat_it() {
    for seed in 0..if cfg!(miri) { 1 } else { 50 } {
        let run = |schedule: Schedule| {
            let turns = Turns::new(schedule, true);
            let builder = ThreadPoolBuilder::new().num_threads(3);
            let pool = builder.with_turns(turns.clone()).build().unwrap();
            let order = Order::default();
            pool.install(|| tree(3, 1, &order));
            // This thread ends the pool at a time that the schedule does not control.
            let (choices, switches) = turns.record();
            pool.shutdown().unwrap();
            let mut hasher = DefaultHasher::new();
            order.lock().unwrap().hash(&mut hasher);
            (hasher.finish(), choices, switches)
        };
        let first = run(seed.into());
        assert_eq!(run(Schedule::new(seed, first.2.clone())), first);
    }
}

#[test]
fn a_pool_has_four_workers_on_every_machine() {
    let pool = ThreadPoolBuilder::new().seeded(0).build().unwrap();
    assert_eq!(pool.current_num_threads(), NUM_THREADS);
}

#[test]
fn shrinks_to_the_switches_that_are_needed() {
    let mut runs = 0;
    let fewest = shrink((0..40).collect(), 200, &mut |switches: Vec<u32>| {
        runs += 1;
        (switches.contains(&7) && switches.contains(&30)).then_some(switches)
    });
    assert_eq!(fewest, Some(vec![7, 30]));
    assert!(runs <= 60, "{runs}");
    assert_eq!(shrink(vec![1, 2], 200, &mut |_| None), None);
    let first = shrink((0..40).collect(), 1, &mut |switches: Vec<u32>| {
        Some(switches)
    });
    assert_eq!(
        first.map(|switches| switches.len()),
        Some(40),
        "no more runs"
    );
}

#[test]
fn a_schedule_and_its_text_belong_together() {
    for text in ["0", "18446744073709551615", "7:", "7:1-0", "7:1-0,2-65534"] {
        assert_eq!(text.parse::<Schedule>().unwrap().to_string(), text);
    }
    for bad in [
        "",
        "-1",
        "1 ",
        "7:1",
        "7:1-",
        "7:-1",
        "7:2-0,1-0",
        "7:1-0,1-1",
        "x:1-0",
    ] {
        let error = bad.parse::<Schedule>().unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("`{bad}` is no schedule")),
            "{error}"
        );
    }
}

/// The worker has another thread during the call than after it.
#[cfg(not(miri))]
#[test]
fn one_worker_runs_at_a_time_after_a_section_that_blocks() {
    for seed in 0..4 {
        let builder = ThreadPoolBuilder::new()
            .num_threads(2)
            .max_blocking_threads(1);
        let pool = builder.seeded(seed).build().unwrap();
        let jobs_run = Arc::new(AtomicUsize::new(0));
        let jobs_run_beside = pool.install(|| {
            for _ in 0..200 {
                let jobs_run = jobs_run.clone();
                crate::spawn(move || _ = jobs_run.fetch_add(1, SeqCst));
            }
            crate::block_in_place(|| thread::sleep(Duration::from_millis(1)));
            let before = jobs_run.load(SeqCst);
            // Long enough for the other worker to see whether the thread that has the turn runs.
            let begin = Instant::now();
            while begin.elapsed() < Duration::from_millis(100) {
                std::hint::spin_loop();
            }
            jobs_run.load(SeqCst) - before
        });
        assert_eq!(jobs_run_beside, 0, "seed {seed}");
        pool.shutdown().unwrap();
    }
}

/// Checks that the schedule in the report of a failure does not depend on how fast the workers fall
/// asleep after the failure.
#[test]
fn the_report_of_a_failure_repeats() {
    let explorer = Explorer::new().attempts_to_shrink(0);
    let report = |seed, program: fn()| match explorer.run([seed], program) {
        Err(ExploreError::Failed(failed)) => failed.to_string(),
        other => panic!("{other:?}"),
    };
    let programs: [fn(); 2] = [
        || assert_ne!(join(|| 1, || 2), (1, 2), "they are equal"),
        || {
            crate::spawn(|| panic!("a spawned job"));
            join(|| (), || ());
        },
    ];
    for seed in 0..if cfg!(miri) { 1 } else { 20 } {
        for program in programs {
            let first = report(seed, program);
            for _ in 0..5 {
                assert_eq!(first, report(seed, program), "seed {seed}");
            }
        }
    }
}
