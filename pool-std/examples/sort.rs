//! A quicksort on all workers: what is less than the pivot, and what is not, is sorted by a join.
//!
//! ```sh
//! cargo run --release -p pool-std --example sort -- 10000000
//! ```

use std::{env, process, time::Instant};

/// Shorter slices are sorted by one worker.
const SHORT: usize = 1 << 14;
/// The pivot is the median of so many numbers.
const SAMPLES: usize = 9;

fn main() {
    let length = env::args().nth(1).map_or(Ok(1_000_000), |it| it.parse());
    let Ok(length) = length else {
        eprintln!("usage: sort [LENGTH]");
        process::exit(2);
    };
    let mut numbers = shuffled(length);
    let mut expected = numbers.clone();

    // The first use would start the threads of the global pool.
    pool_std::join(|| (), || ());
    let start = Instant::now();
    sort(&mut numbers);
    let ours = start.elapsed();
    let start = Instant::now();
    expected.sort_unstable();
    let alone = start.elapsed();

    assert_eq!(numbers, expected);
    let workers = pool_std::current_num_threads();
    println!("{length} numbers: {ours:?} on {workers} workers, {alone:?} by `sort_unstable`");
}

fn sort(numbers: &mut [u64]) {
    if numbers.len() <= SHORT {
        numbers.sort_unstable();
        return;
    }
    let step = numbers.len() / SAMPLES;
    let mut samples: [u64; SAMPLES] = std::array::from_fn(|sample| numbers[sample * step]);
    samples.sort_unstable();
    let pivot = samples[SAMPLES / 2];
    let count = partition(numbers, |number| number < pivot);
    let (less, mut others) = numbers.split_at_mut(count);
    if less.is_empty() {
        // The pivot is the least number, and there may be many of it.
        let equal = partition(others, |number| number == pivot);
        others = &mut others[equal..];
    }
    pool_std::join(|| sort(less), || sort(others));
}

/// Moves the numbers for which a closure is true to the front, and returns how many there are.
fn partition(numbers: &mut [u64], is_first: impl Fn(u64) -> bool) -> usize {
    let mut count = 0;
    for next in 0..numbers.len() {
        // Without a branch, which would be guessed wrong half of the time.
        let moves = is_first(numbers[next]);
        numbers.swap(count, next);
        count += usize::from(moves);
    }
    count
}

/// Numbers that look as if they were random.
fn shuffled(length: usize) -> Vec<u64> {
    let mut state = 1_u64;
    let next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        state >> 11
    };
    std::iter::repeat_with(next).take(length).collect()
}
