//! Seeded pools, and programs under many schedules.

use std::{
    future::poll_fn,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU32, Ordering::Relaxed},
        mpsc,
    },
    task::Poll,
    time::Duration,
};

use pool_std::{
    ExploreError, Explorer, FailedProgram, JoinHandle, Schedule, SleepKind, ThreadPool,
    ThreadPoolBuilder, block_on, driver::Driver, isolate, join, scope, spawn,
};

fn seeded(seed: u64) -> ThreadPoolBuilder {
    ThreadPoolBuilder::new().num_threads(3).seeded(seed)
}

fn failure(result: Result<(), ExploreError>) -> FailedProgram {
    match result {
        Err(ExploreError::Failed(failed)) => failed,
        other => panic!("{other:?}"),
    }
}

/// The workers have left, and their threads have not ended.
#[test]
fn a_thread_that_takes_long_to_end_does_not_hang() {
    struct Slow;

    impl Drop for Slow {
        fn drop(&mut self) {
            std::thread::sleep(Duration::from_millis(500));
        }
    }

    thread_local!(static SLOW: Slow = const { Slow });

    let explorer = Explorer::new().hang_after(Duration::from_millis(100));
    explorer.run(0..1, || SLOW.with(|_| ())).unwrap();
}

/// Two additions, of which one may be lost: the lock is released between the read and the write.
fn forgetful_sum() {
    let sum = Mutex::new(0);
    let add = || {
        let before = *sum.lock().unwrap();
        let (after, ()) = join(|| before + 1, || ());
        *sum.lock().unwrap() = after;
    };
    join(add, add);
    assert_eq!(sum.into_inner().unwrap(), 2, "an addition is lost");
}

/// A lock that is held across a join: while it waits, the worker may begin another addition.
#[cfg(all(any(target_os = "linux", target_os = "android"), not(miri)))]
fn lock_across_a_join() {
    let sum = Mutex::new(0);
    let add = || {
        let mut sum = sum.lock().unwrap();
        let (after, ()) = join(|| *sum + 1, || ());
        *sum = after;
    };
    scope(|scope| (0..4).for_each(|_| scope.spawn(|_| add())));
}

#[test]
fn finds_a_lock_that_is_released_too_early() {
    let attempts = if cfg!(miri) { 3 } else { 200 };
    let explorer = Explorer::new().attempts_to_shrink(attempts);
    let failed = failure(explorer.run(0..10_000, forgetful_sum));
    assert!(failed.is_repeatable());
    assert!(failed.failure().contains("an addition is lost"), "{failed}");
    let switches = failed.schedule().switches().unwrap().len();
    // The thief takes the second half, and comes to its read before the write of the first.
    assert!(switches >= 1 && (cfg!(miri) || switches <= 6), "{failed}");
    let text = failed.to_string();
    assert!(
        text.contains(&format!("POOL_STD_SEED={}", failed.schedule())),
        "{text}"
    );
    // The text is what a program is run again with.
    let schedule: Schedule = failed.schedule().to_string().parse().unwrap();
    let again = failure(
        explorer
            .attempts_to_shrink(0)
            .replay(schedule, forgetful_sum),
    );
    assert_eq!(again.failure(), failed.failure());
    assert!(!again.is_repeatable(), "it was not run again");
    // One worker is interrupted by no other.
    Explorer::new()
        .num_threads(1)
        .run(0..10, forgetful_sum)
        .unwrap();
}

/// Where the system does not tell that a worker waits, this takes long.
#[cfg(all(any(target_os = "linux", target_os = "android"), not(miri)))]
#[test]
fn finds_a_lock_that_is_held_across_a_join() {
    let explorer = Explorer::new()
        .hang_after(Duration::from_millis(500))
        .attempts_to_shrink(3);
    let failed = failure(explorer.run(0..10_000, lock_across_a_join));
    assert!(
        failed.failure().starts_with("no worker can go on:"),
        "{failed}"
    );
    assert!(
        failed.failure().contains("is blocked outside the pool"),
        "{failed}"
    );
    assert!(failed.is_repeatable());
    // What the page about locks says to do.
    explorer
        .run(0..10, || pool_std::isolate(lock_across_a_join))
        .unwrap();
}

#[test]
fn a_program_that_is_right_passes() {
    let runs = Arc::new(AtomicU32::new(0));
    let counted = runs.clone();
    let seeds = if cfg!(miri) { 2 } else { 300 };
    let program = move || {
        counted.fetch_add(1, Relaxed);
        let sum = Mutex::new(0);
        scope(|scope| {
            for number in 0..4 {
                let sum = &sum;
                scope.spawn(move |_| *sum.lock().unwrap() += join(|| number, || 1).0);
            }
        });
        assert_eq!(sum.into_inner().unwrap(), 6);
    };
    Explorer::new().run(0..seeds, program).unwrap();
    assert_eq!(u64::from(runs.load(Relaxed)), seeds);
}

#[test]
fn a_panic_of_a_spawned_job_is_a_failure() {
    let explorer = Explorer::new().attempts_to_shrink(2);
    let failed = failure(explorer.run(7..9, || spawn(|| panic!("in the dark"))));
    assert_eq!(failed.schedule().seed(), 7);
    assert_eq!(
        failed.failure(),
        "in a spawned job, the job panicked: in the dark"
    );
}

#[test]
fn a_program_that_depends_on_something_else_is_said_to() {
    let runs = AtomicU32::new(0);
    let explorer = Explorer::new().attempts_to_shrink(3);
    let failed = failure(explorer.run([0], move || assert!(runs.fetch_add(1, Relaxed) > 0)));
    assert!(!failed.is_repeatable());
    assert!(
        failed.to_string().contains("did not fail again"),
        "{failed}"
    );
}

#[test]
fn a_worker_cannot_explore() {
    let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let explored = pool.install(|| Explorer::new().run([0], || ()));
    assert!(matches!(explored, Err(ExploreError::OnWorker)));
}

#[test]
fn a_pool_that_cannot_be_built_is_an_error() {
    let explored = Explorer::new().num_threads(70_000).run([0], || ());
    assert!(matches!(explored, Err(ExploreError::Build(_))));
}

#[test]
fn a_seeded_pool_has_no_driver() {
    struct Nothing;
    impl Driver for Nothing {}

    let error = seeded(0).driver(|_| Ok(Nothing)).build().unwrap_err();
    assert_eq!(error.to_string(), "a seeded pool cannot have a driver");
}

#[test]
fn the_protocol_alone_makes_a_pool_seeded() {
    let pool = ThreadPoolBuilder::new().sleep(SleepKind::Seeded);
    let pool = pool.num_threads(2).build().unwrap();
    assert_eq!(pool.sleep_kind(), SleepKind::Seeded);
    assert_eq!(pool.join(|| 1, || 2), (1, 2));
}

/// A worker that asks again and again gives others their turns, and does not wait for the time at
/// which the turn is taken from it.
#[test]
fn a_worker_that_asks_again_and_again_lets_others_go_on() {
    for seed in 0..if cfg!(miri) { 1 } else { 50 } {
        let pool = seeded(seed).build().unwrap();
        let is_done = AtomicBool::new(false);
        let ask = || {
            let mut times = 0;
            while !is_done.load(Relaxed) {
                pool_std::yield_now();
                times += 1;
            }
            times
        };
        let (times, ()) = pool.join(ask, || is_done.store(true, Relaxed));
        // Until the turn is taken from it, it would ask millions of times.
        assert!(times < 10_000, "{times}");
        let is_done = pool.install(|| {
            let mut job = pool_std::spawn_handle(|| ());
            job.wait_timeout(Duration::from_secs(100))
        });
        assert!(is_done);
    }
}

/// Reproduces a bug: a worker that polled a future which wakes itself came to no point where
/// another worker could go on. Its turn was taken from it after some seconds, and then both ran at
/// once.
#[test]
fn a_worker_that_polls_again_and_again_lets_others_go_on() {
    let (seeds, spins) = if cfg!(miri) { (1, 10) } else { (20, 1000) };
    let in_middle = Arc::new(AtomicBool::new(false));
    for is_isolated in [false, true] {
        let in_middle = in_middle.clone();
        Explorer::new()
            .num_threads(2)
            .run(0..seeds, move || {
                let is_done = Arc::new(AtomicBool::new(false));
                let (done, middle) = (is_done.clone(), in_middle.clone());
                spawn(move || {
                    for _ in 0..10 {
                        middle.store(true, Relaxed);
                        (0..spins).for_each(|_| std::hint::spin_loop());
                        middle.store(false, Relaxed);
                        join(|| (), || ());
                    }
                    done.store(true, Relaxed);
                });
                let future = poll_fn(|context| {
                    assert!(!in_middle.load(Relaxed), "the other worker runs, too");
                    if is_done.load(Relaxed) {
                        return Poll::Ready(());
                    }
                    context.waker().wake_by_ref();
                    Poll::Pending
                });
                match is_isolated {
                    false => block_on(future),
                    true => isolate(|| block_on(future)),
                }
            })
            .unwrap();
    }
}

/// Everything that a pool can do ends, also what happens at no time that a schedule knows.
#[test]
fn seeded_pools_do_what_others_do() {
    for seed in 0..if cfg!(miri) { 1 } else { 20 } {
        let pool = seeded(seed).max_blocking_threads(1).build().unwrap();
        // Threads outside.
        let jobs: Vec<_> = (0..5)
            .map(|number| pool.spawn_handle(move || number))
            .collect();
        let sum: u32 = jobs
            .into_iter()
            .map(|job: JoinHandle<u32>| job.join().unwrap())
            .sum();
        assert_eq!(sum, 10);
        let (sender, receiver) = mpsc::channel();
        pool.spawn_many((0..5).map(|number| {
            let sender = sender.clone();
            move || sender.send(number).unwrap()
        }));
        drop(sender);
        assert_eq!(receiver.iter().sum::<u32>(), 10);
        assert_eq!(pool.broadcast(|context| context.index()), [0, 1, 2]);
        let mut count = 0;
        pool.in_place_scope(|scope| scope.spawn(|_| count += 1));
        assert_eq!(count, 1);
        // Fewer workers, and more again.
        assert_eq!(pool.set_active_workers(1), Ok(3));
        assert_eq!(pool.join(|| 1, || 2), (1, 2));
        assert_eq!(pool.set_active_workers(3), Ok(1));
        pool.wait_idle().unwrap();
        // In the place of a worker that blocks, another thread runs jobs.
        let (sender, receiver) = mpsc::channel();
        let (received, ()) = pool.join(
            || pool_std::block_in_place(move || receiver.recv()),
            move || sender.send(7).unwrap(),
        );
        assert_eq!(received, Ok(7));
        let result = pool.install(|| pool_std::try_join(|| Err::<(), _>(1), || Ok(())));
        assert_eq!(result, Err(1));
        pool.shutdown().unwrap();
    }
}

#[test]
fn a_worker_may_be_an_adopted_thread() {
    for seed in 0..if cfg!(miri) { 1 } else { 20 } {
        // In a thread of its own, which ceases to be a worker when it ends.
        let adopted = std::thread::spawn(move || {
            let pool: ThreadPool = seeded(seed).use_current_thread().build().unwrap();
            let numbers = Mutex::new(Vec::new());
            pool.scope(|scope| {
                for number in 0..10 {
                    let numbers = &numbers;
                    scope.spawn(move |_| numbers.lock().unwrap().push(number));
                }
            });
            pool.shutdown().unwrap();
            numbers.into_inner().unwrap()
        });
        let mut numbers = adopted.join().unwrap();
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..10));
    }
}

/// The order of jobs with priorities, and of those that a worker takes at a fair look.
#[test]
fn priorities_repeat_under_a_seed() {
    fn order(seed: u64) -> Vec<u32> {
        let pool = seeded(seed).build().unwrap();
        let order = Arc::new(Mutex::new(Vec::new()));
        pool.install(|| {
            for number in 0..if cfg!(miri) { 20 } else { 200 } {
                let order = order.clone();
                let job = move || order.lock().unwrap().push(number);
                match number % 3 {
                    0 => pool_std::spawn_urgent(job),
                    1 => pool_std::spawn(job),
                    _ => pool_std::spawn_background(job),
                }
            }
        });
        pool.shutdown().unwrap();
        Arc::into_inner(order).unwrap().into_inner().unwrap()
    }
    let orders: Vec<_> = (0..if cfg!(miri) { 2 } else { 20 }).map(order).collect();
    let again: Vec<_> = (0..orders.len() as u64).map(order).collect();
    assert_eq!(orders, again);
    assert_ne!(orders[0], orders[1], "the seed decides");
}

/// A pool that the program builds has no handler for panics, which would end the process.
#[test]
fn a_panic_in_a_pool_of_the_program_is_a_failure() {
    let explorer = Explorer::new().attempts_to_shrink(0);
    let failed = failure(explorer.run(0..1, || {
        let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        pool.spawn(|| panic!("in a pool of the program"));
        pool.shutdown().unwrap();
    }));
    assert!(
        failed.failure().contains("in a pool of the program"),
        "{failed}"
    );
}

/// The drop of a payload is code of the user.
#[test]
fn payloads_whose_drop_panics_are_failures() {
    struct Payload;

    impl Drop for Payload {
        fn drop(&mut self) {
            if !std::thread::panicking() {
                panic!("the drop of a payload");
            }
        }
    }

    let explorer = Explorer::new().attempts_to_shrink(0);
    failure(explorer.run(0..1, || std::panic::panic_any(Payload)));
    failure(explorer.run(0..1, || pool_std::spawn(|| std::panic::panic_any(Payload))));
}
