//! A library as Python's packages have them: what it computes, it computes with rayon.

use rayon::prelude::*;

/// Sums the squares of the numbers below this one, on all workers of the global pool.
#[unsafe(no_mangle)]
pub extern "C" fn sum_of_squares(end: u64) -> u64 {
    (0..end).into_par_iter().map(|number| number * number).sum()
}
