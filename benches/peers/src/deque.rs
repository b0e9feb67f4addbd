//! The group `deque`: the queues that schedulers are made of.

mod injector;
mod push_pop;
mod queue;
mod shared_queue;
mod steal;

use std::sync::Arc;

use deque_core::{Deque, Growable, Injector};
use protocol::{Case, Unit};

use queue::{Queue, Thief};
use shared_queue::SharedQueue;

type Ours = deque_core::Worker<Arc<Deque<usize, Growable<usize>>>>;
type Crossbeam = crossbeam_deque::Worker<usize>;
type St3 = st3::lifo::Worker<usize>;

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = vec![
        push_pop::<Ours>(),
        push_pop::<Crossbeam>(),
        push_pop::<St3>(),
    ];
    for thieves in 1..=3 {
        cases.extend([steal::<Ours>(thieves), steal::<Crossbeam>(thieves)]);
        cases.push(steal::<St3>(thieves));
    }
    cases.extend([steal_batch::<Ours>(), steal_batch::<Crossbeam>()]);
    cases.push(steal_batch::<St3>());
    for producers in [1, 2, 4, 8] {
        cases.push(injector::<Injector<usize>>(producers));
        cases.push(injector::<crossbeam_deque::Injector<usize>>(producers));
        cases.push(no_injector(St3::SYSTEM, producers));
    }
    cases
}

fn push_pop<Q: Queue>() -> Case {
    let unit = Unit::Nanoseconds;
    let run = push_pop::measure::<Q>;
    Case::new("deque", "push-pop", 1, Q::SYSTEM, unit, run)
}

fn steal<Q: Queue>(thieves: usize) -> Case {
    let run = move || steal::measure::<Q>(thieves, Q::Thief::steal);
    Case::new("deque", "steal", thieves, Q::SYSTEM, Unit::PerSecond, run)
}

fn steal_batch<Q: Queue>() -> Case {
    let run = || steal::measure::<Q>(1, Q::Thief::steal_batch_and_pop);
    let unit = Unit::PerSecond;
    Case::new("deque", "steal-batch", 1, Q::SYSTEM, unit, run)
}

fn injector<Q: SharedQueue>(producers: usize) -> Case {
    let run = move || injector::measure::<Q>(producers);
    let unit = Unit::PerSecond;
    Case::new("deque", "injector", producers, Q::SYSTEM, unit, run)
}

fn no_injector(system: &str, producers: usize) -> Case {
    let run = || unreachable!("no caller asks for what is missing");
    let unit = Unit::PerSecond;
    Case::new("deque", "injector", producers, system, unit, run).missing("it has none")
}
