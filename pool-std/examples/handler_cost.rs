//! What a deadlock handler costs: `fib(n)` by joins, with or without one.
//!
//! ```sh
//! cargo build --release -p pool-std --example handler_cost
//! time target/release/examples/handler_cost without 32
//! time target/release/examples/handler_cost with 32
//! ```

use std::{env, process, time::Instant};

use pool_std::{ThreadPoolBuilder, join};

fn fibonacci(n: u32) -> u64 {
    if n < 2 {
        return n.into();
    }
    let (a, b) = join(|| fibonacci(n - 1), || fibonacci(n - 2));
    a + b
}

fn main() {
    let mut arguments = env::args().skip(1);
    let mode = arguments.next();
    let n = arguments.next().and_then(|word| word.parse().ok());
    let workers = arguments.next().map_or(Ok(2), |word| word.parse());
    let (Some(mode @ ("with" | "without")), Some(n), Ok(workers)) = (mode.as_deref(), n, workers)
    else {
        eprintln!("usage: handler_cost with|without N [WORKERS]");
        process::exit(2);
    };
    let mut builder = ThreadPoolBuilder::new().num_threads(workers);
    if mode == "with" {
        builder = builder.deadlock_handler(|report| eprintln!("{report}"));
    }
    let pool = builder.build().expect("threads can be started");
    let begin = Instant::now();
    let result = pool.install(|| fibonacci(n));
    println!(
        "fib({n}) = {result}, {mode} a handler: {:?}",
        begin.elapsed()
    );
}
