//! Many sleeps and wakes. A lost wake-up makes these hang, which the time limit turns into a
//! failure that names the test.
//!
//! `STRESS_CYCLES` sets the number of cycles; the default suits a quick run.

use std::{
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use pool_std::{IdlePolicy, ParkerKind, ThreadPoolBuilder, WorkerState, join};

fn cycles() -> u64 {
    std::env::var("STRESS_CYCLES")
        .ok()
        .and_then(|cycles| cycles.parse().ok())
        .unwrap_or(20_000)
}

/// Runs `body` on a thread of its own; if it makes no end in time, aborts with its name.
fn with_time_limit(name: &str, body: impl FnOnce() + Send) {
    // A quick cycle takes microseconds. The limit only ends a test that fails, so it leaves a busy
    // machine a thousand times that.
    let limit = Duration::from_secs(600) + Duration::from_millis(5) * cycles() as u32;
    thread::scope(|threads| {
        let (sender, receiver) = mpsc::channel::<()>();
        let thread = threads.spawn(move || {
            body();
            drop(sender);
        });
        if receiver.recv_timeout(limit) == Err(mpsc::RecvTimeoutError::Timeout) {
            eprintln!("{name}: no end after {limit:?}, a wake-up must have been lost");
            std::process::abort();
        }
        thread.join().unwrap();
    });
}

fn wake_and_sleep(policy: IdlePolicy, parker: ParkerKind) {
    for workers in 1..=8 {
        let pool = ThreadPoolBuilder::new()
            .num_threads(workers)
            .idle_policy(policy)
            .parker(parker)
            .build()
            .unwrap();
        let start = Instant::now();
        for cycle in 0..cycles() / 8 {
            // From outside, and from inside with a job to steal.
            let (a, b) = pool.install(|| join(|| cycle, || cycle + 1));
            assert_eq!(a + 1, b);
            if policy.rounds_until_sleepy() > 0 && cycle % 8 == 0 {
                // Without a pause the next cycle begins before these workers have looked often
                // enough.
                while pool.metrics().num_in(WorkerState::Asleep) < workers {
                    thread::yield_now();
                }
            }
        }
        println!(
            "{policy:?} {parker:?}: {workers} workers, {:?}",
            start.elapsed()
        );
        pool.shutdown().unwrap();
    }
}

#[test]
fn stress_without_rounds() {
    with_time_limit("futex", || {
        wake_and_sleep(IdlePolicy::IMMEDIATE, ParkerKind::Futex)
    });
    with_time_limit("condvar", || {
        wake_and_sleep(IdlePolicy::IMMEDIATE, ParkerKind::Condvar)
    });
}

#[test]
fn stress_with_the_default_policy() {
    with_time_limit("default", || {
        wake_and_sleep(IdlePolicy::DEFAULT, ParkerKind::default())
    });
}

// Spawns for which no thread waits, in bursts with pauses in which the workers fall asleep.
#[test]
fn stress_of_spawns_from_outside() {
    with_time_limit("spawn", || {
        for policy in [IdlePolicy::IMMEDIATE, IdlePolicy::DEFAULT] {
            let pool = ThreadPoolBuilder::new()
                .num_threads(4)
                .idle_policy(policy)
                .build()
                .unwrap();
            let (sender, receiver) = mpsc::channel();
            for burst in 0..cycles() / 20 {
                for _ in 0..burst % 6 + 1 {
                    let sender = sender.clone();
                    pool.spawn(move || sender.send(()).unwrap());
                }
                (0..burst % 6 + 1).for_each(|_| receiver.recv().unwrap());
            }
            pool.shutdown().unwrap();
        }
    });
}
