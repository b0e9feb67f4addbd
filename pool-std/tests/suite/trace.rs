//! What workers keep of what they did: that it is a legal history, that it agrees with the metrics,
//! and that the file is what a viewer expects.

mod checker;
mod chrome;
mod environment;
mod labels;
mod loads;
mod runs;
mod transitions;

use std::{
    collections::HashMap,
    panic::{AssertUnwindSafe, catch_unwind},
    thread,
    time::Duration,
};

use checker::History;
use pool_std::{
    BuildError, SleepKind, ThreadPool, ThreadPoolBuilder, join,
    trace::{Event, Span, SpanKind, Trace, WorkerTrace},
};

fn pool(threads: usize, events: usize) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(threads);
    builder.trace(events).build().unwrap()
}

fn workers(trace: &Trace) -> &[WorkerTrace] {
    trace.pools()[0].workers()
}

/// Returns the names of the types of the jobs that a worker ran.
fn job_names(worker: &WorkerTrace) -> impl Iterator<Item = &'static str> {
    worker.events().iter().filter_map(|it| match it.event {
        Event::Job(name) => name.get(),
        _ => None,
    })
}

#[test]
fn a_pool_that_does_not_ask_keeps_nothing() {
    let pool = pool(1, 0);
    pool.install(|| ());
    assert_eq!(pool.trace().pools().len(), 0);
}

#[test]
fn too_many_events_are_an_error() {
    let error = ThreadPoolBuilder::new().trace(1 << 24).build().unwrap_err();
    assert!(
        matches!(
            error,
            BuildError::TooManyEvents {
                requested: 0x100_0000,
                maximum: 0xff_ffff
            }
        ),
        "{error:?}"
    );
    assert_eq!(
        error.to_string(),
        "16777216 events per worker requested, at most 16777215 are possible"
    );
}

#[test]
fn jobs_are_named_by_their_closures() {
    fn named_job() {}

    let pool = pool(1, 100);
    pool.spawn(named_job);
    pool.wait_idle().unwrap();
    let trace = pool.trace();
    let names: Vec<_> = job_names(&workers(&trace)[0]).collect();
    assert!(
        names.iter().any(|name| name.contains("named_job")),
        "{names:?}"
    );
}

/// So a program can count the jobs of each closure.
#[test]
fn jobs_of_one_closure_have_equal_names() {
    fn often() {}
    fn once() {}

    let pool = pool(1, 100);
    pool.spawn(often);
    pool.spawn(often);
    pool.spawn(once);
    pool.wait_idle().unwrap();
    let trace = pool.trace();
    let mut counts = HashMap::new();
    for it in workers(&trace)[0].events() {
        if let Event::Job(name) = it.event {
            *counts.entry(name).or_insert(0) += 1;
        }
    }
    let mut counts: Vec<_> = counts.into_values().collect();
    counts.sort_unstable();
    assert_eq!(counts, [1, 2], "{trace:?}");
}

/// The ring holds at least as many events as were asked for.
#[test]
fn old_events_are_overwritten_and_counted() {
    let pool = pool(1, 50);
    for _ in 0..100 {
        pool.install(|| ());
    }
    let trace = pool.trace();
    let worker = &workers(&trace)[0];
    assert!((50..=63).contains(&worker.events().len()), "{trace:?}");
    assert!(worker.overwritten() > 100, "{}", worker.overwritten());
}

#[test]
fn a_panic_ends_its_job() {
    let pool = pool(1, 100);
    let payload = catch_unwind(AssertUnwindSafe(|| pool.install(|| panic!("as it should"))));
    assert!(payload.is_err());
    pool.install(|| ());
    pool.wait_idle().unwrap();
    History::of(&pool).check().unwrap();
}

/// A wait in a job is inside that job.
#[test]
fn spans_are_nested_as_jobs_are() {
    let pool = pool(2, 1_000);
    pool.scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|_| pool_std::scope(|inner| inner.spawn(|_| ())));
        }
    });
    let trace = pool.trace();
    for worker in workers(&trace) {
        let spans = worker.spans();
        let jobs = spans
            .iter()
            .filter(|span| matches!(span.kind, SpanKind::Job(_)));
        for inner in jobs.filter(|span| span.depth > 0) {
            let is_around = |outer: &&Span| {
                outer.depth + 1 == inner.depth
                    && outer.begin <= inner.begin
                    && inner.end <= outer.end
            };
            assert!(spans.iter().any(|outer| is_around(&outer)), "{inner:?}");
        }
    }
}

#[test]
fn a_blocked_section_is_a_span() {
    let pool = pool(1, 100);
    pool.install(|| pool_std::blocking("a message", |_| ()));
    let trace = pool.trace();
    let spans = workers(&trace)[0].spans();
    let blocked = spans
        .iter()
        .find(|span| matches!(span.kind, SpanKind::Blocked));
    assert!(blocked.is_some(), "{spans:?}");
}

/// A call from outside while the only worker sleeps runs on the caller's thread.
#[test]
fn a_guest_is_a_span() {
    let builder = ThreadPoolBuilder::new().num_threads(1).trace(10_000);
    let pool = builder.sleep(SleepKind::Jec).build().unwrap();
    let is_guest = |span: &Span| matches!(span.kind, SpanKind::Guest);
    // A call that finds the worker awake is no guest.
    while !workers(&pool.trace())[0].spans().iter().any(is_guest) {
        pool.call(|| join(|| (), || ()));
        thread::sleep(Duration::from_millis(1));
    }
    pool.wait_idle().unwrap();
    History::of(&pool).check().unwrap();
}

#[test]
fn a_wake_up_names_the_worker_that_gave_it() {
    let pool = pool(2, 10_000);
    // Each worker waits for the other, so each is woken by the other at times.
    let mut is_named = false;
    for _ in 0..10_000 {
        pool.install(|| {
            join(
                || thread::sleep(Duration::from_micros(200)),
                || thread::sleep(Duration::from_micros(400)),
            )
        });
        let trace = pool.trace();
        let numbers: Vec<_> = workers(&trace).iter().map(WorkerTrace::number).collect();
        is_named = workers(&trace).iter().any(|worker| {
            worker.events().iter().any(|it| match it.event {
                Event::Wake(by) => by.waker != worker.number() && numbers.contains(&by.waker),
                _ => false,
            })
        });
        if is_named {
            break;
        }
    }
    assert!(is_named, "no worker has ever woken another one");
}
