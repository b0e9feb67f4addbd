//! The group `crowd`: pools of more workers than the machine has processors, as in containers,
//! under other programs, and wherever the number of threads was chosen for another machine.

mod load;
mod matrix;

use std::{cell::RefCell, rc::Rc};

use protocol::{Case, Unit};

use crate::{
    counting::Counting,
    fork_join::ForkJoin,
    pools::{Lazy, Pool, Pools},
    spawning::Spawning,
};
use load::{Cost, Load, Work};

/// As many workers as small machines have processors, a few more, and far more.
const THREADS: [usize; 4] = [2, 4, 8, 64];

/// A pool under such a load.
pub(crate) trait Crowded: ForkJoin + Counting {
    /// The pool, for jobs that its callers do not run themselves.
    type Inner: Spawning;

    fn inner(&self) -> &Self::Inner;
}

impl Crowded for pool_std::ThreadPool {
    type Inner = Self;

    fn inner(&self) -> &Self {
        self
    }
}

impl Crowded for rayon_core::ThreadPool {
    type Inner = Self;

    fn inner(&self) -> &Self {
        self
    }
}

/// Our pool, called by threads that take the places of workers which sleep.
pub(crate) struct Guests(pool_std::ThreadPool);

impl Pool for Guests {
    const SYSTEM: &str = "ours-guests";

    fn new(threads: usize) -> Self {
        Self(Pool::new(threads))
    }
}

impl ForkJoin for Guests {
    type Context<'c> = ();

    fn run<R: Send>(&self, program: impl FnOnce(&mut ()) -> R + Send) -> R {
        self.0.call(|| program(&mut ()))
    }

    #[inline]
    fn join<A: Send, B: Send>(
        context: &mut (),
        first: impl FnOnce(&mut ()) -> A + Send,
        second: impl FnOnce(&mut ()) -> B + Send,
    ) -> (A, B) {
        <pool_std::ThreadPool as ForkJoin>::join(context, first, second)
    }
}

impl Counting for Guests {
    const COUNTS: bool = true;

    fn start(&self) {
        self.0.start();
    }

    fn fruitless_searches(&self) -> u64 {
        self.0.fruitless_searches()
    }

    fn fruitless_wakes(&self) -> u64 {
        self.0.fruitless_wakes()
    }
}

impl Crowded for Guests {
    type Inner = pool_std::ThreadPool;

    fn inner(&self) -> &pool_std::ThreadPool {
        &self.0
    }
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for threads in THREADS {
        let pools = Pools::new(threads);
        let guests = Lazy::<Guests>::new(threads);
        for work in Work::ALL {
            cases.extend(work_cases(&pools.ours, work));
            if work.is_a_call() {
                cases.extend(work_cases(&guests, work));
            }
            cases.extend(work_cases(&pools.rayon, work));
        }
    }
    let cases = cases.into_iter().map(|case| case.repetitions(9));
    if cfg!(unix) {
        cases.collect()
    } else {
        cases.map(|case| case.missing("no getrusage")).collect()
    }
}

/// A case for each cost of a load.
fn work_cases<P: Crowded>(pool: &Rc<Lazy<P>>, work: Work) -> [Case; 3] {
    let load = Rc::new(RefCell::new(Load::new(pool.clone(), work)));
    let case = |name, unit, cost| {
        let load = load.clone();
        let run = move || load.borrow_mut().cost(cost);
        let name = format!("{}{name}", work.name());
        Case::new("crowd", &name, pool.threads(), P::SYSTEM, unit, run)
    };
    let wakes = case("-wakes-for-nothing", Unit::Count, Cost::FruitlessWakes).less_is_better();
    [
        case("", Unit::Microseconds, Cost::Time),
        case("-cpu", Unit::Microseconds, Cost::Cpu),
        if P::COUNTS {
            wakes
        } else {
            wakes.missing("it does not count them")
        },
    ]
}
