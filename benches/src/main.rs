//! Recursive fib with a join at every level, on `pool-std` and on `rayon-core`, in turn in one
//! run: the price of a join.
//!
//! ```sh
//! cargo run --release --manifest-path benches/Cargo.toml
//! ```

use std::time::{Duration, Instant};

const N: u32 = 32;
const FIB_OF_N: u64 = 2_178_309;
/// `fib(n)` makes `fib(n + 1) - 1` joins.
const JOINS: f64 = 3_524_577.0;
const REPETITIONS: usize = 15;

macro_rules! fib {
    ($name:ident, $pool:ident) => {
        fn $name(n: u32) -> u64 {
            if n < 2 {
                return u64::from(n);
            }
            let (a, b) = $pool::join(|| $name(n - 1), || $name(n - 2));
            a + b
        }
    };
}

fib!(fib_ours, pool_std);
fib!(fib_rayon, rayon_core);

fn fib_plain(n: u32) -> u64 {
    if n < 2 {
        u64::from(n)
    } else {
        fib_plain(n - 1) + fib_plain(std::hint::black_box(n - 2))
    }
}

fn time(run: impl FnOnce() -> u64) -> Duration {
    let start = Instant::now();
    assert_eq!(run(), FIB_OF_N);
    start.elapsed()
}

/// Nanoseconds per join: minimum, median, maximum.
fn summary(mut times: Vec<Duration>) -> [f64; 3] {
    times.sort_unstable();
    [times[0], times[times.len() / 2], times[times.len() - 1]]
        .map(|time| time.as_secs_f64() * 1e9 / JOINS)
}

fn print(threads: usize, system: &str, [min, median, max]: [f64; 3]) {
    println!("{threads:>7} {system:<12} {median:>8.2} {min:>8.2} {max:>8.2}");
}

fn main() {
    println!("fib({N}), nanoseconds per join, {REPETITIONS} repetitions in turn\n");
    println!(
        "{:>7} {:<12} {:>8} {:>8} {:>8}",
        "workers", "system", "median", "min", "max"
    );
    let plain = (0..REPETITIONS)
        .map(|_| time(|| fib_plain(std::hint::black_box(N))))
        .collect();
    print(1, "plain", summary(plain));
    for threads in [1, 2] {
        let ours = pool_std::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build();
        let ours = ours.expect("a small pool");
        let rayon = rayon_core::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build();
        let rayon = rayon.expect("a small pool");
        let (mut our_times, mut rayon_times) = (Vec::new(), Vec::new());
        for _ in 0..REPETITIONS {
            our_times.push(time(|| ours.install(|| fib_ours(N))));
            rayon_times.push(time(|| rayon.install(|| fib_rayon(N))));
        }
        let (our_times, rayon_times) = (summary(our_times), summary(rayon_times));
        print(threads, "pool-std", our_times);
        print(threads, "rayon-core", rayon_times);
        println!(
            "{:>7} ratio of medians {:.2}\n",
            "",
            our_times[1] / rayon_times[1]
        );
    }
}
