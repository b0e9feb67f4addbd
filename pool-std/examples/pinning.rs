//! A pool whose workers stay on their processors, for jobs that come back to the same data.
//!
//! Each worker has a part of a table that fits into its cache, and updates it again and again by
//! broadcasts, which are the jobs that say which worker runs them. On a machine that runs little
//! else, pinned workers find their part where they have left it. Beside other programs they wait
//! for their processor while another one is idle: then the numbers are the other way round.
//!
//! ```sh
//! cargo run --release -p pool-std --features pinning --example pinning
//! ```

use std::{
    sync::Mutex,
    time::{Duration, Instant},
};

use pool_std::{BuildError, ThreadPool, ThreadPoolBuilder};

const WORDS: usize = 1 << 15;
const ROUNDS: u64 = 200;

fn main() -> Result<(), BuildError> {
    let free = measure(&ThreadPoolBuilder::new().build()?);
    let pinned = measure(&ThreadPoolBuilder::new().pin_workers().build()?);
    println!("{ROUNDS} rounds: {free:?} with workers that move, {pinned:?} with pinned ones");
    Ok(())
}

fn measure(pool: &ThreadPool) -> Duration {
    // A lock that only its own worker takes.
    let parts: Vec<_> = (0..pool.current_num_threads())
        .map(|_| Mutex::new(vec![0_u64; WORDS]))
        .collect();
    let start = Instant::now();
    for round in 0..ROUNDS {
        pool.broadcast(|worker| {
            let mut part = parts[worker.index()].lock().unwrap();
            part.iter_mut().for_each(|word| *word += round);
        });
    }
    let elapsed = start.elapsed();
    let expected = ROUNDS * (ROUNDS - 1) / 2;
    for part in parts {
        let part = part.into_inner().unwrap();
        assert!(part.iter().all(|&word| word == expected));
    }
    elapsed
}
