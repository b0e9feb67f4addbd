//! What `block_in_place` costs, beside a closure that is called, a blocked section and a thread of
//! its own.
//!
//! ```sh
//! cargo run --release -p pool-std --example blocking_cost
//! ```
//!
//! Each line is the median of many calls with an empty closure, and the range of the middle half.

use std::{env, hint::black_box, process, thread, time::Instant};

use pool_std::{ThreadPool, ThreadPoolBuilder, block_in_place, blocking};

fn pool(workers: usize, spares: usize) -> ThreadPool {
    ThreadPoolBuilder::new()
        .num_threads(workers)
        .max_blocking_threads(spares)
        .build()
        .expect("threads can be started")
}

/// Measures calls, each a number of times in a row, and returns the nanoseconds of one each time.
fn measure(calls: usize, in_a_row: u32, mut call: impl FnMut()) -> Vec<f64> {
    let once = |_| {
        let begin = Instant::now();
        (0..in_a_row).for_each(|_| call());
        begin.elapsed().as_secs_f64() * 1e9 / f64::from(in_a_row)
    };
    (0..calls).map(once).collect()
}

fn show(name: &str, mut times: Vec<f64>) {
    times.sort_unstable_by(f64::total_cmp);
    let [quarter, median, rest] = [1, 2, 3].map(|part| times[times.len() * part / 4]);
    println!("{name:44} {median:>10.1} ns  ({quarter:.1} to {rest:.1})");
}

fn main() {
    let calls = env::args().nth(1).map_or(Ok(2000), |word| word.parse());
    let Ok(calls @ 1..) = calls else {
        eprintln!("usage: blocking_cost [CALLS]");
        process::exit(2);
    };
    let empty = || black_box(());
    for workers in [1, 2] {
        println!("workers: {workers}");
        let without_spares = pool(workers, 0);
        let times = without_spares.install(|| measure(calls, 1000, empty));
        show("a closure that is called", times);
        let times =
            without_spares.install(|| measure(calls, 100, || blocking("a wait", |_| empty())));
        show("blocking", times);
        let times = without_spares.install(|| measure(calls, 100, || block_in_place(empty)));
        show("block_in_place without a spare", times);
        let with_spare = pool(workers, 1);
        with_spare.install(|| block_in_place(empty));
        let times = with_spare.install(|| measure(calls, 1, || block_in_place(empty)));
        show("block_in_place with a spare that is ready", times);
        let times = (0..calls.div_ceil(10)).flat_map(|_| {
            let fresh = pool(workers, 1);
            fresh.install(|| measure(1, 1, || block_in_place(empty)))
        });
        show("block_in_place that starts its spare", times.collect());
        let times = without_spares.install(|| {
            measure(calls.div_ceil(10), 1, || {
                thread::spawn(empty).join().expect("it does not panic");
            })
        });
        show("a thread that is started and joined", times);
    }
}
