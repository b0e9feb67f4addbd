//! The group `facade`: what a thread outside the pool pays for a search that hits at once, and for
//! sums.

use std::{
    hint::black_box,
    sync::{LazyLock, Once},
    thread,
    time::Duration,
};

use protocol::{Case, Unit, time};
use rayon::{ThreadPoolBuilder, prelude::*};

/// How many elements there are to search. Each of them is a hit.
const ELEMENTS: u32 = 10_000_000;
/// How many searches a case makes, one after the other.
const SEARCHES: u32 = 1_000;
/// How many searches a case makes if all workers sleep before each.
const SEPARATE_SEARCHES: u32 = 20;
/// In which the workers go to sleep.
const NAP: Duration = Duration::from_millis(5);

/// Made when it is first needed: other groups have no use for it.
static NUMBERS: LazyLock<Vec<u32>> = LazyLock::new(|| (0..ELEMENTS).collect());

/// Searches the numbers, and returns whether there was a hit.
type Search = fn() -> bool;

const SEARCHES_BY_NAME: [(&str, Search); 3] = [
    ("find_any", || {
        NUMBERS.par_iter().find_any(|&&n| is_hit(n)).is_some()
    }),
    ("any", || NUMBERS.par_iter().any(|&n| is_hit(n))),
    ("position_any", || {
        NUMBERS.par_iter().position_any(|&n| is_hit(n)).is_some()
    }),
];

/// Sums so many of the numbers: in parallel, and with a plain loop.
const SUMS_BY_NAME: [(&str, usize); 2] = [("sum-1k", 1_000), ("sum-100k", 100_000)];
/// How many sums a case makes, one after the other.
const SUMS: u32 = 200;

/// Returns searches in the global pool, which has this number of workers, in a row and each by
/// itself, and sums in a row. One of the programs, which is `first`, has plain loops too.
pub(crate) fn cases(threads: usize, system: &str, is_first: bool) -> Vec<Case> {
    let mut cases = Vec::new();
    for (name, count) in SUMS_BY_NAME {
        cases.push(sums(name, threads, system, move || {
            let numbers = &NUMBERS[..count];
            numbers.par_iter().map(|&n| u64::from(n)).sum()
        }));
        if is_first {
            cases.push(sums(name, threads, "sequential", move || {
                let numbers = black_box(&NUMBERS[..count]);
                numbers.iter().map(|&n| u64::from(n)).sum()
            }));
        }
    }
    for (name, search) in SEARCHES_BY_NAME {
        let in_a_row = move || {
            begin(threads);
            time(|| (0..SEARCHES).for_each(|_| assert!(search()))) / SEARCHES
        };
        let asleep = move || {
            let total: Duration = (0..SEPARATE_SEARCHES)
                .map(|_| {
                    begin(threads);
                    time(|| assert!(search()))
                })
                .sum();
            total / SEPARATE_SEARCHES
        };
        let unit = Unit::Nanoseconds;
        let new = |name: &str, run: Box<dyn Fn() -> Duration>| {
            let run = move || unit.of(run());
            Case::new("facade", name, threads, system, unit, run).repetitions(18)
        };
        cases.push(new(name, Box::new(in_a_row)));
        cases.push(new(&format!("{name}-asleep"), Box::new(asleep)));
    }
    cases
}

/// Returns the case of a sum, which all systems must agree in.
fn sums(name: &str, threads: usize, system: &str, sum: impl Fn() -> u64 + 'static) -> Case {
    let unit = Unit::Nanoseconds;
    let run = move || {
        begin(threads);
        let expected = sum();
        unit.of(time(|| (0..SUMS).for_each(|_| assert_eq!(sum(), expected)))) / f64::from(SUMS)
    };
    Case::new("facade", name, threads, system, unit, run).repetitions(18)
}

/// Whether a number is looked for: always, which the compiler cannot know.
fn is_hit(number: u32) -> bool {
    number < black_box(ELEMENTS)
}

/// Builds the pool and the numbers if it is the first time, and lets the workers go to sleep.
fn begin(threads: usize) {
    static POOL: Once = Once::new();
    POOL.call_once(|| {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build_global();
        pool.expect("no other code uses the global pool");
        LazyLock::force(&NUMBERS);
    });
    // The threads have been started.
    rayon::broadcast(|_| ());
    thread::sleep(NAP);
}
