//! Prints one number for the orders in which seeds run a program, and one for each 100,000 of them
//! before: the same on every machine.
//!
//! `cargo run --release -p pool-std --example seeded_orders -- 1000`
//!
//! Compare it under another profile, and with `taskset --cpu-list 0` before the program.

use std::{
    env,
    panic::{catch_unwind, resume_unwind},
    process,
    sync::Mutex,
};

use pool_std::{ThreadPoolBuilder, join, scope};

fn tree(depth: u32, number: u32, order: &Mutex<Vec<u32>>) {
    order.lock().unwrap().push(number);
    if depth > 0 {
        join(
            || tree(depth - 1, 2 * number, order),
            || tree(depth - 1, 2 * number + 1, order),
        );
    }
}

/// Runs joins, scopes, a panic, and a pool inside.
fn program(order: &Mutex<Vec<u32>>) {
    tree(3, 1, order);
    scope(|scope| {
        for number in 0..4 {
            scope.spawn(move |_| tree(1, 100 + 10 * number, order));
        }
    });
    let panicked = catch_unwind(|| join(|| tree(1, 200, order), || resume_unwind(Box::new(()))));
    assert!(panicked.is_err());
    let inner = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    inner.install(|| tree(2, 300, order));
    inner.shutdown().unwrap();
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let seeds = env::args().nth(1).map_or(Ok(1000), |seeds| seeds.parse());
    let Ok(seeds) = seeds else {
        eprintln!("usage: seeded_orders [SEEDS]");
        process::exit(2);
    };
    // FNV-1a.
    let mut digest: u64 = 0xCBF2_9CE4_8422_2325;
    for seed in 0_u64..seeds {
        if seed > 0 && seed.is_multiple_of(100_000) {
            println!("{seed} seeds: {digest:016x}");
        }
        let pool = ThreadPoolBuilder::new()
            .num_threads(3)
            .seeded(seed)
            .build()?;
        let order = Mutex::new(Vec::new());
        pool.install(|| program(&order));
        pool.shutdown()?;
        for number in order.into_inner()? {
            digest = (digest ^ u64::from(number)).wrapping_mul(0x0100_0000_01B3);
        }
    }
    println!("{seeds} seeds: {digest:016x}");
    Ok(())
}
