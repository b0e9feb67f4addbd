//! Programs that hang, and what the pool says of them. The book's page "My program hangs" shows
//! their output:
//!
//! ```sh
//! cargo run -p pool-std --example hangs -- lock
//! cargo run -p pool-std --example hangs -- label
//! cargo run -p pool-std --example hangs -- blocked
//! cargo run -p pool-std --example hangs -- itself
//! cargo run -p pool-std --example hangs -- pools
//! ```

use std::{
    env, process,
    sync::{Arc, Mutex, MutexGuard, mpsc},
    thread,
    time::Duration,
};

use pool_std::{ThreadPool, ThreadPoolBuilder};

/// A time after which none of the programs would still run.
const LONG: Duration = Duration::from_secs(2);

fn main() {
    match env::args().nth(1).as_deref() {
        Some("lock") => lock_across_a_join(|total| total.lock().unwrap()),
        Some("label") => {
            lock_across_a_join(|total| pool_std::blocking("the total", |_| total.lock().unwrap()))
        }
        Some("blocked") => worker_that_waits_for_no_message(),
        Some("itself") => job_that_waits_for_itself(),
        Some("pools") => pools_that_wait_for_each_other(),
        _ => {
            eprintln!("usage: hangs lock|label|blocked|itself|pools");
            process::exit(2);
        }
    }
}

/// Computes something, with other workers.
fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = pool_std::join(|| fib(n - 1), || fib(n - 2));
    a + b
}

/// Some jobs hold a lock while they wait in a join. There the worker runs another job, which takes
/// the lock too.
fn lock_across_a_join(lock: fn(&Mutex<u64>) -> MutexGuard<'_, u64>) {
    let pool = pool();
    let total = Arc::new(Mutex::new(0));
    for number in 0..10_000 {
        let total = total.clone();
        pool.spawn(move || {
            if number % 2 == 0 {
                let mut total = lock(&total);
                *total += fib(15);
            } else {
                fib(15);
            }
        });
    }
    show(&pool);
}

/// The sender is kept, so that the job waits forever.
fn worker_that_waits_for_no_message() {
    let pool = pool();
    let (_sender, receiver) = mpsc::channel::<u64>();
    pool.spawn(move || {
        let message = pool_std::blocking("a message", |_| receiver.recv());
        println!("{message:?}");
    });
    show(&pool);
}

/// Each job waits for a job that it has spawned, and no worker is left that would run it.
fn job_that_waits_for_itself() {
    let pool = pool();
    for _ in 0..pool.current_num_threads() {
        pool.spawn(|| {
            let (sender, receiver) = mpsc::channel();
            // The other job begins late enough for both workers to be in this one.
            thread::sleep(Duration::from_millis(100));
            pool_std::spawn(move || sender.send(fib(15)).unwrap());
            println!("{:?}", receiver.recv());
        });
    }
    show(&pool);
}

/// A job of each pool waits for one of the other. Those of the first pool may run nothing else
/// meanwhile.
fn pools_that_wait_for_each_other() {
    let (one, two) = (Arc::new(pool()), Arc::new(pool()));
    for _ in 0..one.current_num_threads() {
        let (inner, two) = (one.clone(), two.clone());
        one.spawn(move || {
            // The other job begins late enough for both workers to be in this one.
            thread::sleep(Duration::from_millis(100));
            let number = pool_std::isolate(|| two.install(|| inner.install(|| fib(15))));
            println!("{number}");
        });
    }
    thread::sleep(LONG / 2);
    println!("{}\n", two.state());
    show(&one);
}

fn pool() -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(2).build().unwrap()
}

/// Says what the workers do, twice, and ends the process.
fn show(pool: &ThreadPool) -> ! {
    thread::sleep(LONG);
    println!("{}\n", pool.state());
    let before = pool.metrics().sum();
    thread::sleep(LONG);
    let jobs = (pool.metrics().sum() - before).jobs_run;
    println!("jobs run in the last {} s: {jobs}", LONG.as_secs());
    process::exit(1);
}
