//! The events that a worker keeps.

use std::vec::Vec;

use super::*;
use crate::{Event, TraceEvent};

#[test]
fn a_stolen_join_is_a_steal_and_a_job() {
    static POOL: SpinPool<TestCores<2, 64>> = pool(IdlePolicy::DEFAULT);
    let events = || (0..2).flat_map(|worker| POOL.trace(worker).unwrap());
    let count = |is_it: fn(Event) -> bool| events().filter(|it| is_it(it.event)).count();
    let jobs = || count(|event| matches!(event, Event::Job(_)));
    // Without `with_workers`, whose broadcasts fill a trace if a thread begins late.
    thread::scope(|threads| {
        for worker in 0..2 {
            threads.spawn(move || POOL.run_worker(worker).unwrap());
        }
        let barrier = Barrier::new(2);
        let meet = |_: Worker<'_, TestCores<2, 64>>| {
            barrier.wait();
        };
        POOL.install(|core| core.join(meet, meet));
        POOL.end();
    });
    assert_eq!(count(|event| matches!(event, Event::Steal { .. })), 1);
    assert_eq!(jobs(), 2, "what was installed and what was stolen");
    assert_eq!(count(|event| matches!(event, Event::JobEnd)), 2);
    let leaves = count(|event| matches!(event, Event::Leave));
    assert!(leaves >= 2, "{leaves}");
    assert_eq!(count(|event| matches!(event, Event::Enter)), leaves);
    for worker in 0..2 {
        let times: Vec<_> = POOL.trace(worker).unwrap().map(|it| it.time).collect();
        assert!(times.is_sorted(), "{times:?}");
    }
}

#[test]
fn the_last_events_are_kept() {
    static POOL: SpinPool<TestCores<1, 64>> = pool(IdlePolicy::DEFAULT);
    POOL.run_with(0, |core| {
        for _ in 0..1_000 {
            core.scope(|scope| scope.spawn(|_, _| ()));
        }
    })
    .unwrap();
    let events = POOL.trace(0).unwrap();
    assert!(events.overwritten() > 2_000, "{events:?}");
    let events: Vec<TraceEvent> = events.collect();
    assert_eq!(events.len(), 255);
    assert!(
        matches!(events[254].event, Event::Leave),
        "{:?}",
        events[254]
    );
}

#[test]
fn a_worker_that_the_pool_does_not_have_is_an_error() {
    static POOL: SpinPool<TestCores<1, 64>> = pool(IdlePolicy::DEFAULT);
    assert!(POOL.trace(1).is_err());
}
