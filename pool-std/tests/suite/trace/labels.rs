//! Parts of jobs that have names.

use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    thread,
};

use pool_std::{
    ThreadPool, ThreadPoolBuilder, block_in_place, join, labeled,
    trace::{Event, SpanKind},
};

use super::{pool, workers};

/// Returns the labels of a pool of one worker, in the order in which they begin, and the depth of
/// each among the spans.
fn labels(pool: &ThreadPool) -> Vec<(&'static str, usize)> {
    let trace = pool.trace();
    let spans = workers(&trace)[0].spans();
    let labels = spans.iter().filter_map(|span| match span.kind {
        SpanKind::Label(label) => Some((label, span.depth)),
        _ => None,
    });
    labels.collect()
}

/// Returns how many parts have begun and have ended.
fn begins_and_ends(pool: &ThreadPool) -> [usize; 2] {
    let trace = pool.trace();
    let events = workers(&trace)[0].events();
    let count = |is_it: fn(Event) -> bool| events.iter().filter(|it| is_it(it.event)).count();
    [
        count(|event| matches!(event, Event::Label(_))),
        count(|event| matches!(event, Event::LabelEnd)),
    ]
}

#[test]
fn parts_are_inside_their_job() {
    let pool = pool(1, 100);
    let sum = pool.install(|| {
        let (first, second) = labeled(&"both", || {
            join(|| labeled(&"first", || 1), || labeled(&"second", || 2))
        });
        labeled(&"sum", || first + second)
    });
    assert_eq!(sum, 3);
    assert_eq!(
        labels(&pool),
        [("both", 1), ("first", 2), ("second", 2), ("sum", 1)]
    );
}

#[test]
fn a_part_that_panics_ends() {
    let pool = pool(1, 100);
    pool.install(|| {
        let part = || labeled(&"panics", || resume_unwind(Box::new(())));
        assert!(catch_unwind(AssertUnwindSafe(part)).is_err());
        labeled(&"next", || ());
    });
    assert_eq!(labels(&pool), [("panics", 1), ("next", 1)]);
    assert_eq!(begins_and_ends(&pool), [2, 2]);
}

#[test]
fn a_thread_that_is_not_a_worker_only_calls_the_closure() {
    assert_eq!(labeled(&"outside", || 1), 1);
}

/// The thread becomes a worker in the middle of the closure.
#[test]
fn a_part_that_began_outside_the_pool_has_no_end() {
    let part = || {
        labeled(&"outside", || {
            let builder = ThreadPoolBuilder::new().num_threads(1);
            builder.use_current_thread().trace(100).build().unwrap()
        })
    };
    let test = move || assert_eq!(begins_and_ends(&part()), [0, 0]);
    thread::spawn(test).join().unwrap();
}

/// Meanwhile the thread is not the worker.
#[test]
fn a_part_goes_on_after_its_worker_was_lent() {
    let pool = ThreadPoolBuilder::new()
        .num_threads(1)
        .max_blocking_threads(1);
    let pool = pool.trace(100).build().unwrap();
    pool.install(|| labeled(&"lends", || block_in_place(|| labeled(&"elsewhere", || ()))));
    assert_eq!(labels(&pool), [("lends", 1)]);
    assert_eq!(begins_and_ends(&pool), [1, 1]);
}
