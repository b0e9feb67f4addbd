//! A sum that forgets an addition once in a long while, and the schedule in which it does.
//!
//! `cargo run --release -p pool-std --example forgetful_sum`

use std::sync::Mutex;

use pool_std::{ExploreError, Explorer, ThreadPoolBuilder, join};

/// How often the program runs in an ordinary pool.
const RUNS: usize = 10_000;

/// Adds twice. The lock is released between the read and the write.
fn sum() -> u32 {
    let sum = Mutex::new(0);
    let add = || {
        let before = *sum.lock().unwrap();
        let (after, ()) = join(|| before + 1, || ());
        *sum.lock().unwrap() = after;
    };
    join(add, add);
    sum.into_inner().unwrap()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let pool = ThreadPoolBuilder::new().num_threads(3).build()?;
    let wrong = (0..RUNS).filter(|_| pool.install(sum) != 2).count();
    println!("in an ordinary pool, {wrong} of {RUNS} runs are wrong");
    match Explorer::new().run(0..10_000, || assert_eq!(sum(), 2)) {
        Err(ExploreError::Failed(failed)) => println!("{failed}"),
        other => other?,
    }
    Ok(())
}
