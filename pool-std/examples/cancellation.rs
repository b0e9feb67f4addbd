//! A search that ends when one job has found what all look for.
//!
//! It looks for a number whose hash begins with a few zeros. The jobs of a scope share a token:
//! each looks at it in its loop, and a job that has not begun by then is left out.
//!
//! ```sh
//! cargo run --release -p pool-std --example cancellation -- 22
//! ```

use std::{
    env,
    error::Error,
    process,
    sync::atomic::{AtomicUsize, Ordering},
    time::Instant,
};

use pool_std::{CancelToken, try_scope};

/// How many numbers a job looks at.
const NUMBERS: u64 = 1 << 16;
/// How many numbers it looks at between two looks at the token.
const INTERVAL: u64 = 1 << 10;

/// All jobs of the search are queued at once, so that a longer one would need much memory.
const MOST_ZEROS: u32 = 30;

/// What ends the search.
#[derive(Debug)]
struct Found(u64);

fn main() -> Result<(), Box<dyn Error>> {
    let zeros = env::args().nth(1).map_or(Ok(20), |it| it.parse());
    let Ok(zeros @ 0..=MOST_ZEROS) = zeros else {
        eprintln!("usage: cancellation [ZEROS], a number up to {MOST_ZEROS}");
        process::exit(2);
    };
    let jobs = (1_u64 << zeros) / NUMBERS * 32 + 64;
    let begun = AtomicUsize::new(0);
    let start = Instant::now();
    // The first error of a job is that of the scope, and cancels the others.
    let result = try_scope(|scope| {
        for job in 0..jobs {
            let (token, begun) = (scope.cancel_token(), &begun);
            scope.spawn(move |_| {
                begun.fetch_add(1, Ordering::Relaxed);
                search(job * NUMBERS, zeros, &token)
            });
        }
        Ok(())
    });
    let Err(Found(number)) = result else {
        return Err("none of the numbers has such a hash".into());
    };
    assert!(hash(number).leading_zeros() >= zeros);
    println!(
        "{number} has the hash {:016x}; {} of {jobs} jobs began, {:?}",
        hash(number),
        begun.into_inner(),
        start.elapsed()
    );
    Ok(())
}

/// Looks at the numbers from the first one on, until one is found or the search is cancelled.
fn search(first: u64, zeros: u32, token: &CancelToken) -> Result<(), Found> {
    for begin in (first..first + NUMBERS).step_by(INTERVAL as usize) {
        if token.is_cancelled() {
            break;
        }
        let numbers = begin..begin + INTERVAL;
        if let Some(number) = { numbers }.find(|&number| hash(number).leading_zeros() >= zeros) {
            return Err(Found(number));
        }
    }
    Ok(())
}

/// Mixes the bits of a number, as SplitMix64 does.
fn hash(number: u64) -> u64 {
    let mut word = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ word >> 31
}
