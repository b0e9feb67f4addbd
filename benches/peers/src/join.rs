//! The group `join`: programs of forks and joins.

mod coarse;
mod fib;
mod long_leaf;
mod queens;
mod tree;
mod uts;

use std::rc::Rc;

use protocol::{Case, Unit};

use crate::{
    fork_join::ForkJoin,
    pools::{Lazy, Pools},
};

/// A program, the same for all systems.
trait Program {
    const NAME: &str;
    const UNIT: Unit;

    /// Runs it once.
    fn measure<P: ForkJoin>(pool: &P) -> f64;
}

pub(crate) fn cases(pools: &[Pools]) -> Vec<Case> {
    let mut cases = with_sequential::<fib::Fib>(pools);
    cases.extend(pools.iter().map(fib_with_worker));
    cases.extend(with_sequential::<tree::TreeSum>(pools));
    cases.extend(with_sequential::<queens::Queens>(pools));
    cases.extend(with_sequential::<uts::Uts>(pools));
    cases.extend(with_sequential::<coarse::Coarse>(pools));
    // It is about what others do meanwhile.
    let several = pools.iter().filter(|pools| pools.threads() > 1);
    cases.extend(several.flat_map(on_pools::<long_leaf::LongLeaf>));
    cases
}

/// A program on all systems, and as it is without one.
fn with_sequential<R: Program>(pools: &[Pools]) -> Vec<Case> {
    let on_all = |pools: &Pools| {
        let sequential = case::<R, _>(&pools.sequential);
        on_pools::<R>(pools).into_iter().chain([sequential])
    };
    pools.iter().flat_map(on_all).collect()
}

fn on_pools<R: Program>(pools: &Pools) -> [Case; 3] {
    [
        case::<R, _>(&pools.ours),
        case::<R, _>(&pools.rayon),
        case::<R, _>(&pools.chili),
    ]
}

fn fib_with_worker(pools: &Pools) -> Case {
    let pool = pools.ours.clone();
    let run = move || fib::measure_with_worker(pool.get());
    let (name, unit) = (fib::Fib::NAME, fib::Fib::UNIT);
    Case::new("join", name, pools.threads(), "ours-context", unit, run)
}

fn case<R: Program, P: ForkJoin>(pool: &Rc<Lazy<P>>) -> Case {
    let threads = pool.threads();
    let pool = pool.clone();
    let run = move || R::measure(pool.get());
    Case::new("join", R::NAME, threads, P::SYSTEM, R::UNIT, run)
}
