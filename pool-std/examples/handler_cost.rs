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
    let arguments: Vec<_> = env::args().skip(1).collect();
    let number = |index: usize| {
        arguments
            .get(index)
            .map_or(Some(2), |word| word.parse().ok())
    };
    let (Some(mode @ ("with" | "without")), Some(n), Some(workers)) =
        (arguments.first().map(String::as_str), number(1), number(2))
    else {
        eprintln!("usage: handler_cost with|without N [WORKERS]");
        process::exit(2);
    };
    let mut builder = ThreadPoolBuilder::new().num_threads(workers as usize);
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
