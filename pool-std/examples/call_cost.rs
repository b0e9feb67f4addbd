//! Calls an empty closure many times while all workers sleep, and prints what one call costs.
//!
//! ```sh
//! cargo run --release -p pool-std --example call_cost
//! strace -c -f target/release/examples/call_cost
//! ```

use std::{hint::black_box, thread, time::Instant};

const CALLS: u32 = 1_000_000;

fn main() -> Result<(), pool_std::BuildError> {
    let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
    let caller = thread::current().id();
    while pool.call(|| thread::current().id()) != caller {
        thread::yield_now();
    }
    let begin = Instant::now();
    for number in 0..CALLS {
        black_box(pool.call(|| black_box(number)));
    }
    println!("a call of an empty closure: {:?}", begin.elapsed() / CALLS);

    let begin = Instant::now();
    for _ in 0..CALLS / 1000 {
        pool.call(|| tree(10));
    }
    let forks = CALLS / 1000 * 1023;
    println!(
        "a fork in a tree from outside: {:?}",
        begin.elapsed() / forks
    );
    Ok(())
}

/// Forks a tree of this depth.
fn tree(depth: u32) {
    if depth > 0 {
        pool_std::join(|| tree(depth - 1), || tree(depth - 1));
    }
}
