//! The group `call`: what a thread outside a pool pays for a call while all workers sleep.

use std::{hint::black_box, rc::Rc, thread, time::Duration};

use protocol::{Case, Unit, time};

use crate::{
    fork_join::ForkJoin,
    pools::{Lazy, Pool, Pools},
    spawning::{Spawning, on_both},
};

/// How often a case does it, one after the other.
const CALLS: u32 = 1_000;
/// The depth of a tree, and how many forks that are.
const DEPTH: u32 = 10;
const FORKS: u32 = (1 << DEPTH) - 1;
/// In which the workers go to sleep.
const NAP: Duration = Duration::from_millis(5);

pub(crate) fn cases(pools: &[Pools]) -> Vec<Case> {
    let mut cases = Vec::new();
    for (name, measures) in [
        ("empty", Shape::Empty),
        ("join", Shape::Join),
        ("tree", Shape::Tree),
    ] {
        for pools in pools {
            cases.extend([
                case(name, measures, &pools.ours),
                case(name, measures, &pools.rayon),
                case(name, measures, &pools.chili),
                case(name, measures, &pools.sequential),
            ]);
        }
    }
    cases.extend(on_both(
        "call",
        "install",
        Unit::Nanoseconds,
        pools,
        install,
        install,
    ));
    let cases = cases.into_iter().map(|case| case.repetitions(10));
    cases.collect()
}

/// What is called.
#[derive(Clone, Copy)]
enum Shape {
    /// A closure that does nothing.
    Empty,
    /// One join of two such closures.
    Join,
    /// A tree of joins. The result is per fork.
    Tree,
}

/// A call by each system's way for threads outside: ours is `ThreadPool::call`, rayon-core's
/// `install`, and a scope of chili's. Without a pool it is a call of the function.
fn case<P: ForkJoin>(name: &str, shape: Shape, pool: &Rc<Lazy<P>>) -> Case {
    let (threads, pool) = (pool.threads(), pool.clone());
    let run = move || {
        let pool = pool.get();
        // The threads have been started, and sleep.
        pool.call(|_| ());
        thread::sleep(NAP);
        match shape {
            Shape::Empty => per_call(|| pool.call(|_| black_box(()))),
            Shape::Join => per_call(|| pool.call(|context| _ = P::join(context, |_| (), |_| ()))),
            Shape::Tree => {
                per_call(|| pool.call(|context| fork::<P>(context, DEPTH))) / f64::from(FORKS)
            }
        }
    };
    Case::new("call", name, threads, P::SYSTEM, Unit::Nanoseconds, run)
}

/// A call that a worker runs, which sleeps before the first one.
fn install<P: Pool + Spawning>(pool: &P) -> f64 {
    pool.broadcast(|| ());
    thread::sleep(NAP);
    per_call(|| pool.install(|| black_box(())))
}

fn per_call(mut call: impl FnMut()) -> f64 {
    let time = time(|| (0..CALLS).for_each(|_| call()));
    Unit::Nanoseconds.of(time) / f64::from(CALLS)
}

fn fork<P: ForkJoin>(context: &mut P::Context<'_>, depth: u32) {
    if depth > 0 {
        P::join(
            context,
            |context| fork::<P>(context, depth - 1),
            |context| fork::<P>(context, depth - 1),
        );
    }
}
