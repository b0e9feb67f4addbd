//! The group `tick`: a control loop that hands its pool short parallel regions at a fixed rate, and
//! is idle between them.
//!
//! Source: the load of `tick_bench`, which was proposed for rayon (pull request 1318).

mod load;

use std::{cell::RefCell, rc::Rc};

use protocol::{Case, Unit};

use crate::{
    counting::Counting,
    fork_join::ForkJoin,
    pools::{Lazy, Pools},
};
use load::{Cost, Load, Shape};

/// Fewer workers than such loops have processors, as many, and far more.
const THREADS: [usize; 3] = [2, 8, 64];

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for threads in THREADS {
        let pools = Pools::new(threads);
        for shape in [Shape::Regions, Shape::OneInstall] {
            cases.extend(load_cases(&pools.ours, shape));
            cases.extend(load_cases(&pools.rayon, shape));
            cases.extend(load_cases(&pools.sequential, shape));
        }
    }
    let cases = cases.into_iter().map(|case| case.repetitions(9));
    if cfg!(unix) {
        cases.collect()
    } else {
        cases.map(|case| case.missing("no getrusage")).collect()
    }
}

/// A case for each cost of the load.
fn load_cases<P: ForkJoin + Counting>(pool: &Rc<Lazy<P>>, shape: Shape) -> [Case; 4] {
    let load = Rc::new(RefCell::new(Load::new(pool.clone(), shape)));
    let case = |name, unit, cost| {
        let load = load.clone();
        let run = move || load.borrow_mut().cost(cost);
        let name = format!("{}-{name}", shape.name());
        Case::new("tick", &name, pool.threads(), P::SYSTEM, unit, run)
    };
    let searches = case("searches", Unit::Count, Cost::FruitlessSearches).less_is_better();
    [
        // For each tick.
        case("cpu", Unit::Microseconds, Cost::Cpu),
        case("p50", Unit::Microseconds, Cost::MedianTime),
        case("p99", Unit::Microseconds, Cost::HighTime),
        if P::COUNTS {
            searches
        } else {
            searches.missing("it does not count them")
        },
    ]
}
