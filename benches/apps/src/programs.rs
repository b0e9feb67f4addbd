//! The programs. Each is run so often that one measurement takes some ten milliseconds, and
//! checks its result.

use std::time::Duration;

use protocol::time;
use rayon::{ThreadPool, prelude::*};

use crate::input::{random_numbers, text};

/// Something to run on a pool.
pub(crate) struct Program {
    pub(crate) name: &'static str,
    /// How many runs one measurement has.
    pub(crate) repeats: u32,
    /// Runs it so often; returns how long that took, without preparations.
    pub(crate) run: Run,
}

type Run = Box<dyn FnMut(&ThreadPool, u32) -> Duration>;

const MILLION: usize = 1_000_000;

pub(crate) fn all() -> Vec<Program> {
    let mut programs = sorts();
    programs.extend(reductions());
    programs.extend(searches());
    programs.extend(shapes());
    programs.extend(strings_and_bridges());
    programs
}

/// A program that reads its input only.
fn reader<T: PartialEq + Send + 'static>(
    name: &'static str,
    repeats: u32,
    expected: T,
    run: impl Fn() -> T + Send + Sync + 'static,
) -> Program {
    Program {
        name,
        repeats,
        run: Box::new(move |pool, repeats| {
            time(|| {
                for _ in 0..repeats {
                    let result = pool.install(&run);
                    assert!(result == expected, "{name}: a wrong result");
                }
            })
        }),
    }
}

/// A program that sorts its input.
fn sorter(name: &'static str, repeats: u32, input: Vec<u32>, sort: fn(&mut [u32])) -> Program {
    let mut values = Vec::new();
    Program {
        name,
        repeats,
        run: Box::new(move |pool, repeats| {
            let mut total = Duration::ZERO;
            for _ in 0..repeats {
                values.clone_from(&input);
                total += time(|| pool.install(|| sort(&mut values)));
                assert!(values.is_sorted(), "{name}: not sorted");
            }
            total
        }),
    }
}

fn sorts() -> Vec<Program> {
    let random = random_numbers(MILLION);
    let mut sorted = random.clone();
    sorted.sort_unstable();
    let reverse: Vec<_> = sorted.iter().rev().copied().collect();
    let short = random[..50_000].to_vec();
    let stable = |values: &mut [u32]| values.par_sort();
    vec![
        sorter("sort-random", 1, random.clone(), stable),
        sorter("sort-sorted", 30, sorted, stable),
        sorter("sort-reverse", 10, reverse, stable),
        sorter("sort-equal", 30, vec![7; MILLION], stable),
        sorter("sort-unstable", 2, random, |values| {
            values.par_sort_unstable()
        }),
        sorter("sort-unstable-50k", 40, short, |values| {
            values.par_sort_unstable()
        }),
    ]
}

fn reductions() -> Vec<Program> {
    let numbers = random_numbers(10 * MILLION);
    let sum = numbers.iter().map(|&n| u64::from(n)).sum::<u64>();
    let million = numbers[..MILLION].to_vec();
    let even: Vec<_> = million.iter().filter(|&n| n % 2 == 0).copied().collect();
    let key = |n: &u32| n.reverse_bits();
    let min = million.iter().min_by_key(|n| key(n)).copied();
    let max = million.iter().max_by_key(|n| key(n)).copied();
    let (for_filter, for_min, for_max) = (million.clone(), million.clone(), million);
    vec![
        reader("sum", 20, sum, move || {
            numbers.par_iter().map(|&n| u64::from(n)).sum::<u64>()
        }),
        reader("filter-collect", 10, even, move || {
            let even = for_filter.par_iter().filter(|&n| n % 2 == 0);
            even.copied().collect::<Vec<u32>>()
        }),
        reader("min-by-key", 30, min, move || {
            for_min.par_iter().min_by_key(|n| key(n)).copied()
        }),
        reader("max-by-key", 30, max, move || {
            for_max.par_iter().max_by_key(|n| key(n)).copied()
        }),
    ]
}

fn searches() -> Vec<Program> {
    let count = MILLION as u32;
    let numbers: std::sync::Arc<Vec<u32>> = (0..count).collect::<Vec<_>>().into();
    let mut programs = Vec::new();
    let places = [
        (
            "find-early",
            "any-early",
            "position-early",
            count / 100,
            1000,
        ),
        (
            "find-late",
            "any-late",
            "position-late",
            count - count / 100,
            10,
        ),
    ];
    for (find, any, position, wanted, repeats) in places {
        let values = numbers.clone();
        programs.push(reader(find, repeats, Some(wanted), move || {
            values.par_iter().find_first(|&&n| n == wanted).copied()
        }));
        let values = numbers.clone();
        programs.push(reader(any, repeats, true, move || {
            values.par_iter().any(|&n| n == wanted)
        }));
        let values = numbers.clone();
        programs.push(reader(
            position,
            repeats,
            Some(wanted as usize),
            move || values.par_iter().position_any(|&n| n == wanted),
        ));
    }
    programs
}

fn shapes() -> Vec<Program> {
    let numbers = random_numbers(MILLION);
    let others: Vec<u32> = numbers.iter().rev().copied().collect();
    let wide = |n: u32| u64::from(n);
    let chunks: u64 = numbers
        .chunks(1000)
        .map(|chunk| wide(chunk[chunk.len() / 2]))
        .sum();
    let zip: u64 = numbers
        .iter()
        .zip(&others)
        .map(|(&a, &b)| wide(a ^ b))
        .sum();
    let chain: u64 = numbers.iter().chain(&others).map(|&n| wide(n)).sum();
    let rows: Vec<Vec<u32>> = numbers.chunks(1000).map(<[u32]>::to_vec).collect();
    let flatten: u64 = rows.iter().flatten().map(|&n| wide(n)).sum();
    let (for_chunks, for_zip, for_chain) = (numbers.clone(), numbers.clone(), numbers);
    let (zipped, chained) = (others.clone(), others);
    let for_nested = rows.clone();
    vec![
        reader("chunks", 1000, chunks, move || {
            let chunks = for_chunks.par_chunks(1000);
            chunks
                .map(|chunk| wide(chunk[chunk.len() / 2]))
                .sum::<u64>()
        }),
        reader("zip", 150, zip, move || {
            let pairs = for_zip.par_iter().zip(&zipped);
            pairs.map(|(&a, &b)| wide(a ^ b)).sum::<u64>()
        }),
        reader("chain", 150, chain, move || {
            let all = for_chain.par_iter().chain(&chained);
            all.map(|&n| wide(n)).sum::<u64>()
        }),
        reader("flatten", 150, flatten, move || {
            rows.par_iter().flatten().map(|&n| wide(n)).sum::<u64>()
        }),
        reader("nested", 150, flatten, move || {
            let row_sum = |row: &Vec<u32>| row.par_iter().map(|&n| wide(n)).sum::<u64>();
            for_nested.par_iter().map(row_sum).sum::<u64>()
        }),
    ]
}

fn strings_and_bridges() -> Vec<Program> {
    let text = text(4 * MILLION);
    let longest = text.split(' ').map(str::len).max();
    let steps = |mut n: u64| {
        let mut steps = 0_u64;
        while n != 1 {
            n = if n.is_multiple_of(2) {
                n / 2
            } else {
                3 * n + 1
            };
            steps += 1;
        }
        steps
    };
    let total: u64 = (1..=20_000).map(steps).sum();
    vec![
        reader("string-split", 5, longest, move || {
            text.par_split(' ').map(str::len).max()
        }),
        reader("par-bridge", 10, total, move || {
            (1..=20_000_u64).par_bridge().map(steps).sum::<u64>()
        }),
    ]
}
