//! Recursive fib with a join or a spawn at every level, by one system on the calling thread alone:
//! so the instructions that it executes can be counted, and come out the same each time.
//!
//! ```sh
//! joins SYSTEM N
//! joins SYSTEM-spawn N
//! ```

use std::{
    hint::black_box,
    sync::atomic::{AtomicU64, Ordering},
};

/// Runs the program of one system.
macro_rules! fib_on {
    ($pool:ident, $n:expr) => {{
        fn fib(n: u32) -> u64 {
            if n < 2 {
                return u64::from(n);
            }
            let (a, b) = $pool::join(|| fib(n - 1), || fib(n - 2));
            a + b
        }
        let builder = $pool::ThreadPoolBuilder::new();
        let pool = builder.num_threads(1).use_current_thread().build();
        pool.expect("a small pool").install(|| fib($n))
    }};
}

/// Runs the program of one system with spawned jobs, as many as there were joins.
macro_rules! spawns_on {
    ($pool:ident, $n:expr) => {{
        fn fib<'scope>(scope: &$pool::Scope<'scope>, n: u32, leaves: &'scope AtomicU64) {
            if n < 2 {
                leaves.fetch_add(u64::from(n), Ordering::Relaxed);
                return;
            }
            scope.spawn(move |scope| fib(scope, n - 2, leaves));
            fib(scope, n - 1, leaves);
        }
        let leaves = AtomicU64::new(0);
        let builder = $pool::ThreadPoolBuilder::new();
        let pool = builder.num_threads(1).use_current_thread().build();
        pool.expect("a small pool")
            .scope(|scope| fib(scope, $n, &leaves));
        leaves.into_inner()
    }};
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let system = arguments.next().expect("a system");
    let n = arguments
        .next()
        .and_then(|n| n.parse().ok())
        .expect("a number");
    let result = match &*system {
        "ours" => fib_on!(pool_std, n),
        "rayon-core" => fib_on!(rayon_core, n),
        "ours-spawn" => spawns_on!(pool_std, n),
        "rayon-core-spawn" => spawns_on!(rayon_core, n),
        "sequential" => plain(n),
        other => panic!("no system `{other}`"),
    };
    black_box(result);
}

fn plain(n: u32) -> u64 {
    if n < 2 {
        return u64::from(n);
    }
    plain(n - 1) + black_box(plain as fn(u32) -> u64)(n - 2)
}
