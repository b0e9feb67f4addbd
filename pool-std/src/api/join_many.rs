//! Joins of more than two closures.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crate::{api::join::join, panics::drop_quietly};

/// Runs any number of closures, potentially in parallel, and returns their results as a tuple.
///
/// Expands to a [`join`](crate::join()) of the first closure and a `join!` of the others. All
/// closures except the first are wrapped in another closure: the expressions that create them may
/// run on another thread, and `?`, `return` and `break` cannot leave them.
///
/// # Panics
/// Resumes the panic of the first closure, in argument order, that panicked, when all started
/// closures have finished.
///
/// # Examples
/// ```
/// let (sum, product, text) = pool_std::join!(|| 1 + 2, || 3 * 4, || "five".to_owned());
/// assert_eq!((sum, product, &*text), (3, 12, "five"));
/// ```
#[macro_export]
macro_rules! join {
    () => { () };
    ($($closure:expr),+ $(,)?) => { $crate::join!(@collect [] $($closure),+) };
    // One result after the other is bound to a name of its own: names of different expansions
    // differ.
    (@collect [] $only:expr) => { (($only)(),) };
    (@collect [] $($closure:expr),+) => {
        match $crate::join!(@nest $($closure),+) {
            nested => $crate::join!(@flatten nested [] $($closure),+),
        }
    };
    (@nest $last:expr) => { ($last)() };
    (@nest $first:expr, $($rest:expr),+) => {
        $crate::join($first, || $crate::join!(@nest $($rest),+))
    };
    (@flatten $nested:ident [$($done:expr,)*] $last:expr) => { ($($done,)* $nested,) };
    (@flatten $nested:ident [$($done:expr,)*] $first:expr, $($rest:expr),+) => {
        match $nested {
            (first, others) => $crate::join!(@flatten others [$($done,)* first,] $($rest),+),
        }
    };
}

/// Runs closures of one type, potentially in parallel, and returns their results in order.
///
/// Halves the array until one closure is left. Does not allocate.
///
/// # Panics
/// Resumes the panic of the first closure, in array order, that panicked, when all started closures
/// have finished.
///
/// # Examples
/// ```
/// let squares = pool_std::join_n([1, 2, 3, 4, 5].map(|n| move || n * n));
/// assert_eq!(squares, [1, 4, 9, 16, 25]);
/// ```
pub fn join_n<F, R, const N: usize>(closures: [F; N]) -> [R; N]
where
    F: FnOnce() -> R + Send,
    R: Send,
{
    let mut closures = closures.map(Some);
    let mut results = [const { None }; N];
    let ended = catch_unwind(AssertUnwindSafe(|| run(&mut closures, &mut results)));
    if let Err(panic) = ended {
        // The first panic counts, and not that of a drop.
        results.into_iter().for_each(drop_quietly);
        closures.into_iter().for_each(drop_quietly);
        resume_unwind(panic);
    }
    results.map(|result| result.expect("each closure has returned"))
}

fn run<F, R>(closures: &mut [Option<F>], results: &mut [Option<R>])
where
    F: FnOnce() -> R + Send,
    R: Send,
{
    match (closures, results) {
        ([closure], [result]) => *result = closure.take().map(|closure| closure()),
        ([], []) => {}
        (closures, results) => {
            let half = closures.len() / 2;
            let (first, second) = closures.split_at_mut(half);
            let (first_results, second_results) = results.split_at_mut(half);
            join(|| run(first, first_results), || run(second, second_results));
        }
    }
}
