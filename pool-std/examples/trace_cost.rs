//! What a trace costs: the time of spawned jobs of about a microsecond, with and without a trace.
//!
//! ```sh
//! cargo run --release -p pool-std --example trace_cost                    # without the feature
//! cargo run --release -p pool-std --example trace_cost --features trace   # and with it
//! ```
//!
//! `trace_cost WORKERS ROUNDS` takes another number of workers, and jobs of another length. Start
//! both builds in turn, a few times, and compare medians: the difference is smaller than the noise
//! of one run.

use std::{env, hint::black_box, process, time::Instant};

use pool_std::{ThreadPool, ThreadPoolBuilder};

/// Jobs in a run, and runs, of which the median counts.
const JOBS: u32 = 10_000;
const RUNS: usize = 60;

/// Computes for as many rounds, each of which takes some one and a half nanoseconds.
#[inline(never)]
fn compute(rounds: u32) -> u64 {
    (0..rounds).fold(black_box(0x9E37_79B9_7F4A_7C15), |mut x, _| {
        x ^= x << 13;
        x ^= x >> 7;
        x ^ x << 17
    })
}

/// Returns how long it takes to spawn and run the jobs, in nanoseconds for each.
fn time_of_job(pool: &ThreadPool, rounds: u32) -> f64 {
    let begin = Instant::now();
    pool.scope(|scope| {
        for _ in 0..JOBS {
            scope.spawn(move |_| _ = black_box(compute(rounds)));
        }
    });
    begin.elapsed().as_secs_f64() * 1e9 / f64::from(JOBS)
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() {
    let mut numbers = env::args().skip(1).map(|word| word.parse().ok());
    let mut next_or = |default| numbers.next().unwrap_or(Some(default));
    let (Some(workers), Some(rounds)) = (next_or(2), next_or(620)) else {
        eprintln!("usage: trace_cost [WORKERS [ROUNDS]]");
        process::exit(2);
    };
    let builder = || ThreadPoolBuilder::new().num_threads(workers as usize);
    let builders = [
        ("not traced", builder()),
        #[cfg(feature = "trace")]
        ("traced", builder().trace(65_535)),
    ];
    let mut pools = builders.map(|(name, builder)| {
        let pool = builder.build().expect("threads can be started");
        (name, pool, Vec::new())
    });
    // The pools take turns, so that what else the machine does concerns them alike.
    for _ in 0..RUNS {
        for (_, pool, times) in &mut pools {
            times.push(time_of_job(pool, rounds));
        }
    }
    for (name, _, times) in pools {
        println!("{name:10}  {:.1} ns for each job", median(times));
    }
}
