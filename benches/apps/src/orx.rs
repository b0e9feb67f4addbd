//! Some of the programs by the iterators of orx-parallel, on a pool of pool-std without rayon.

use std::{io, rc::Rc};

use orx_parallel::*;
use pool_std::ThreadPoolBuilder;
use pool_std_orx::GlobalPool;
use protocol::{Case, Unit, time};

use crate::input::random_numbers;

const MILLION: usize = 1_000_000;

/// Returns the programs on a pool of this size.
pub(crate) fn cases(threads: usize) -> io::Result<Vec<Case>> {
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = Rc::new(pool.map_err(io::Error::other)?);
    let numbers = random_numbers(10 * MILLION);
    let sum = numbers.iter().map(|&n| u64::from(n)).sum::<u64>();
    let million = numbers[..MILLION].to_vec();
    let even: Vec<_> = million.iter().filter(|&n| n % 2 == 0).copied().collect();
    let key = |n: &u32| n.reverse_bits();
    let min = million.iter().min_by_key(|n| key(n)).copied();
    let for_min = million.clone();
    let case = |name, repeats, run: Box<dyn Fn() + Send + Sync>| {
        let (pool, unit) = (pool.clone(), Unit::Microseconds);
        let run = move || {
            let time = time(|| (0..repeats).for_each(|_| pool.install(&run)));
            unit.of(time) / f64::from(repeats)
        };
        Case::new("apps", name, threads, "ours-orx", unit, run).repetitions(31)
    };
    let runner = || Runner::fixed_with_pool(GlobalPool);
    Ok(vec![
        case(
            "sum",
            20,
            Box::new(move || {
                let wide = numbers.par().runner(runner()).map(|&n| u64::from(n));
                assert_eq!(wide.sum(), sum);
            }),
        ),
        case(
            "filter-collect",
            10,
            Box::new(move || {
                let found = million.par().runner(runner()).filter(|&n| n % 2 == 0);
                let found: Vec<u32> = found.copied().collect();
                assert!(found == even, "a wrong result");
            }),
        ),
        case(
            "min-by-key",
            30,
            Box::new(move || {
                let found = for_min.par().runner(runner()).min_by_key(|n| key(n));
                assert_eq!(found.copied(), min);
            }),
        ),
    ])
}
