//! The group `join`: programs of forks and joins.

mod coarse;
mod fib;
mod lace;
mod long_leaf;
mod queens;
mod tree;
mod uts;
mod written;

use std::{rc::Rc, time::Duration};

use protocol::{Case, Unit};

use crate::{
    fork_join::ForkJoin,
    pools::{Lazy, Pools, Sequential},
};

/// A program, the same for all systems.
trait Program {
    const NAME: &str;
    const UNIT: Unit;

    /// The result of a run that took so long.
    fn result_of(time: Duration) -> f64 {
        Self::UNIT.of(time)
    }
}

/// A program as it is written for one system.
trait Written<P: ForkJoin>: Program {
    /// Runs it once.
    fn measure(pool: &P) -> f64;
}

/// A program that is written for all pools.
trait ForAll:
    Written<pool_std::ThreadPool> + Written<rayon_core::ThreadPool> + Written<chili::ThreadPool>
{
}

impl<R> ForAll for R where
    R: Written<pool_std::ThreadPool> + Written<rayon_core::ThreadPool> + Written<chili::ThreadPool>
{
}

pub(crate) fn cases(pools: &[Pools]) -> Vec<Case> {
    let mut cases = with_sequential::<fib::Fib>(pools);
    cases.extend(pools.iter().map(fib_with_worker));
    cases.extend(in_c::<fib::Fib>(pools, 0, fib::FIB_OF_N));
    cases.extend(with_sequential::<tree::TreeSum>(pools));
    cases.extend(in_c::<tree::TreeSum>(pools, 1, tree::NODES));
    cases.extend(with_sequential::<queens::Queens>(pools));
    cases.extend(in_c::<queens::Queens>(pools, 3, queens::SOLUTIONS));
    cases.extend(with_sequential::<uts::Uts>(pools));
    cases.extend(in_c::<uts::Uts>(pools, 2, uts::NODES));
    cases.extend(with_sequential::<uts::UtsBorrowing>(pools));
    cases.extend(with_sequential::<coarse::Coarse>(pools));
    // It is about what others do meanwhile.
    let several = pools.iter().filter(|pools| pools.threads() > 1);
    cases.extend(several.flat_map(on_pools::<long_leaf::LongLeaf>));
    cases
}

/// A program on all systems, and as it is without one.
fn with_sequential<R: ForAll + Written<Sequential>>(pools: &[Pools]) -> Vec<Case> {
    let on_all = |pools: &Pools| {
        let sequential = case::<R, _>(&pools.sequential);
        on_pools::<R>(pools).into_iter().chain([sequential])
    };
    pools.iter().flat_map(on_all).collect()
}

fn on_pools<R: ForAll>(pools: &Pools) -> [Case; 3] {
    [
        case::<R, _>(&pools.ours),
        case::<R, _>(&pools.rayon),
        case::<R, _>(&pools.chili),
    ]
}

/// The program of this number in C.
fn in_c<R: Program>(pools: &[Pools], number: u32, result: u64) -> impl Iterator<Item = Case> {
    let case = move |pools: &Pools| lace::case::<R>(pools.threads(), number, result);
    pools.iter().map(case)
}

fn fib_with_worker(pools: &Pools) -> Case {
    let pool = pools.ours.clone();
    let run = move || fib::measure_with_worker(pool.get());
    let (name, unit) = (<fib::Fib as Program>::NAME, <fib::Fib as Program>::UNIT);
    Case::new("join", name, pools.threads(), "ours-context", unit, run)
}

fn case<R: Written<P>, P: ForkJoin>(pool: &Rc<Lazy<P>>) -> Case {
    let threads = pool.threads();
    let pool = pool.clone();
    let run = move || R::measure(pool.get());
    Case::new("join", R::NAME, threads, P::SYSTEM, R::UNIT, run)
}
