//! Threads without a pool: the order of accesses, what they cost, and runs that come to no end.

use std::{cell::RefCell, rc::Rc, sync::Arc};

use sleep_primitives::{AtomicUsize, Ordering::Relaxed};

use super::*;
use crate::cost::{CostModel, NS, US};

fn settings(seed: u64) -> Settings {
    Settings::new(CostModel::SERVER, seed)
}

/// Eight threads that add to one counter, with some work in between.
fn contend(seed: u64) -> Finished {
    let counter = Arc::new(AtomicUsize::new(0));
    let bodies = (0..8)
        .map(|_| {
            let counter = counter.clone();
            Box::new(move || {
                for _ in 0..50 {
                    counter.fetch_add(1, Relaxed);
                    work(random() % 100 * NS);
                }
            }) as Body
        })
        .collect();
    let finished = run(settings(seed), [], bodies, Vec::new(), || false).unwrap();
    assert_eq!(counter.load(Relaxed), 400);
    finished
}

#[test]
fn a_seed_decides_the_run() {
    assert_eq!(contend(1), contend(1));
    assert_ne!(contend(1).trace, contend(2).trace);
}

#[test]
fn the_thread_that_is_behind_runs_first() {
    let order = Rc::new(RefCell::new(Vec::new()));
    let bodies = [3, 1, 2].map(|time| {
        let order = order.clone();
        Box::new(move || {
            work(time * US);
            order.borrow_mut().push(time);
        }) as Body
    });
    run(settings(1), [], Vec::from(bodies), Vec::new(), || false).unwrap();
    assert_eq!(*order.borrow(), [1, 2, 3]);
}

#[test]
fn a_wake_up_takes_its_time_and_is_not_lost_on_the_way_to_sleep() {
    let costs = CostModel::SERVER;
    let woken_at = Rc::new(Cell::new(0));
    let sleeper = {
        let woken_at = woken_at.clone();
        Box::new(move || {
            park();
            woken_at.set(now());
        }) as Body
    };
    let waker = Box::new(move || {
        work(NS);
        wake(0);
        assert_eq!(now(), NS + costs.unpark);
    }) as Body;
    run(settings(1), [], vec![sleeper], vec![waker], || false).unwrap();
    let wake = costs.wake;
    assert!(
        (wake * 9 / 10..wake * 12 / 10).contains(&woken_at.get()),
        "{}",
        woken_at.get()
    );
}

#[test]
fn parked_threads_that_no_thread_will_wake_are_an_error() {
    let parked = || vec![Box::new(park) as Body];
    let run = |has_jobs| run(settings(1), [], parked(), Vec::new(), move || has_jobs);
    assert!(matches!(
        run(true),
        Err(RunError::LostWakeUp { workers: 1, .. })
    ));
    assert_eq!(
        run(false),
        Err(RunError::Stuck {
            at: 0,
            threads: vec![0]
        })
    );
}

#[test]
fn a_run_without_end_is_given_up() {
    let settings = Settings {
        limit: 10 * US,
        ..settings(1)
    };
    let endless = Box::new(|| {
        while now() < u64::MAX {
            work(US);
        }
    }) as Body;
    let error = run(settings, [], vec![endless], Vec::new(), || false);
    assert_eq!(error, Err(RunError::TimeOut { limit: 10 * US }));
}

#[test]
fn a_process_fence_interrupts_the_threads_that_run() {
    let costs = CostModel::SERVER;
    let ended_at = Rc::new(Cell::new(0));
    let interrupted = {
        let ended_at = ended_at.clone();
        Box::new(move || {
            work(10 * US);
            ended_at.set(now());
        }) as Body
    };
    let fence = Box::new(|| {
        work(US);
        process_fence();
        assert_eq!(
            now(),
            US + CostModel::SERVER.process_fence + CostModel::SERVER.interrupt_sent
        );
    }) as Body;
    run(
        settings(1),
        [],
        vec![interrupted, fence],
        Vec::new(),
        || false,
    )
    .unwrap();
    assert_eq!(ended_at.get(), 10 * US + costs.interrupt);
}

/// Returns when the last one of some threads ends that compute for 10 us each, on so many
/// processors.
fn end_of_threads(threads: usize, processors: usize) -> u64 {
    let settings = Settings {
        processors,
        ..Settings::new(CostModel::SERVER, 1)
    };
    let bodies = (0..threads).map(|_| -> Body { Box::new(|| work(10 * US)) });
    let finished = run(settings, [], bodies.collect(), Vec::new(), || false);
    finished.unwrap().at
}

#[test]
fn threads_take_turns_on_their_processors() {
    assert_eq!(end_of_threads(4, usize::MAX), 10 * US);
    assert_eq!(end_of_threads(4, 4), 10 * US);
    assert!((20 * US..22 * US).contains(&end_of_threads(4, 2)));
    assert!((40 * US..43 * US).contains(&end_of_threads(4, 1)));
}
