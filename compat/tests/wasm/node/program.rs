//! A program in WebAssembly with threads: rayon on the pool, and the pool itself. Each check prints
//! its name when it has passed.

mod checks;

use std::{
    sync::atomic::{AtomicUsize, Ordering::SeqCst},
    thread,
    time::Duration,
};

use pool_std::{CancelToken, IdlePolicy, ParkerKind, SleepKind};

use checks::CHECKS;

fn main() {
    let of_this_system: [(&str, fn()); 6] = [
        ("install and broadcast on a pool of rayon", pools),
        ("a wait with a limit of time", limits),
        ("a future that is joined in isolation", isolated_futures),
        ("an isolated call of a guest", isolated_guests),
        ("workers that sleep after each job, in each way", sleeps),
        ("the end of a pool", end),
    ];
    for (name, check) in CHECKS.into_iter().chain(of_this_system) {
        check();
        println!("{name}");
    }
}

fn pools() {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(4)
        .build()
        .unwrap();
    assert_eq!(pool.install(rayon::current_num_threads), 4);
    let mut workers = pool.broadcast(|context| context.index());
    workers.sort_unstable();
    assert_eq!(workers, [0, 1, 2, 3]);
}

fn pool(workers: usize) -> pool_std::ThreadPool {
    pool_std::ThreadPoolBuilder::new()
        .num_threads(workers)
        .guests(true)
        .build()
        .unwrap()
}

fn limits() {
    let pool = pool(3);
    let mut slow = pool.spawn_handle(|| thread::sleep(Duration::from_millis(50)));
    while !slow.wait_timeout(Duration::from_millis(5)) {}
    slow.join().unwrap();
    let token = CancelToken::new();
    token.cancel();
    assert!(pool.spawn_handle_unless(&token, || ()).join().is_err());
}

fn isolated_futures() {
    let pool = pool(2);
    let slow = pool.spawn_handle(|| thread::sleep(Duration::from_millis(50)));
    let join = || pool_std::isolate(|| pool_std::spawn_future(slow).join().unwrap());
    pool.install(join).unwrap();
}

fn isolated_guests() {
    let pool = pool(2);
    for _ in 0..100 {
        let both = pool.call(|| pool_std::isolate(|| pool_std::join(|| 1, || 2)));
        assert_eq!(both, (1, 2));
    }
}

fn sleeps() {
    for sleep in SleepKind::ALL.iter().copied() {
        let builder = pool_std::ThreadPoolBuilder::new()
            .num_threads(3)
            .sleep(sleep);
        let builder = builder
            .parker(ParkerKind::Futex)
            .idle_policy(IdlePolicy::IMMEDIATE);
        let pool = builder.build().unwrap();
        for round in 0..500 {
            assert_eq!(
                pool.install(|| pool_std::join(|| round, || round + 1)),
                (round, round + 1)
            );
        }
    }
}

fn end() {
    let pool = pool(4);
    let run = std::sync::Arc::new(AtomicUsize::new(0));
    for _ in 0..1_000 {
        let run = run.clone();
        pool.spawn(move || _ = run.fetch_add(1, SeqCst));
    }
    pool.wait_idle().unwrap();
    assert_eq!(run.load(SeqCst), 1_000);
    pool.shutdown().unwrap();
}
