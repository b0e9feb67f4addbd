//! Waits among workers, forced step by step: cycles, false dependencies, threads of others.

mod panics;
mod scripted;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
};

use pool_std::{Activity, Isolation, ThreadPoolBuilder};
use query_engine::{Context, Engine, Statistics};
use scripted::{Key, Scripted, engine, engine_with_pool, wait_for_waits};

const RING: [Key; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];

#[test]
fn a_ring_of_waiting_workers_is_reported_once_and_the_pool_goes_on() {
    for workers in 2..=RING.len() {
        let ring = &RING[..workers];
        let engine = ring_engine(workers);
        for answer in engine.get_all(ring) {
            assert_eq!(answer.unwrap_err().cycle().path(), ring);
        }
        let expected = Statistics {
            computed: workers as u64,
            waited: workers as u64,
            deadlocks: 1,
            ..Statistics::default()
        };
        assert_eq!(engine.statistics(), expected);
        assert_eq!(engine.get(&"outside"), Ok(7));
        assert_eq!(engine.get(&"above").unwrap_err().cycle().path(), ring);
        assert_eq!(engine.cycles().len(), 1);
    }
}

fn ring_engine(workers: usize) -> Engine<Scripted> {
    engine(workers, move |key, events, context| {
        let Some(position) = RING.iter().position(|&other| other == key) else {
            return if key == "above" {
                context.get(&"a")
            } else {
                Ok(7)
            };
        };
        // All begin before any needs the next.
        events.tell(key);
        RING[..workers].iter().for_each(|other| events.wait(other));
        context.get(&RING[(position + 1) % workers])
    })
}

#[test]
fn a_worker_that_meets_its_own_query_need_not_wait() {
    let engine = engine(1, |key, _, context| match key {
        "a" => context.get(&"b"),
        "b" => context.join(|_| (), |context| context.get(&"a")).1,
        _ => Ok(1),
    });
    let error = engine.get(&"a").unwrap_err();
    assert_eq!(error.cycle().path(), ["a", "b"]);
    assert_eq!(error.to_string(), "cycle: a -> b -> a");
    let expected = Statistics {
        computed: 2,
        met: 1,
        ..Statistics::default()
    };
    assert_eq!(engine.statistics(), expected);
}

#[test]
fn a_query_on_a_cycle_has_an_error_whatever_it_returns() {
    let engine = engine(1, |key, _, context| match key {
        "a" => context.get(&"b").or(Ok(1)),
        "b" => context.get(&"a").or(Ok(2)),
        _ => context.get(&"a").or(Ok(3)),
    });
    assert!(engine.get(&"a").is_err() && engine.get(&"b").is_err());
    assert_eq!(engine.get(&"c"), Ok(3));
}

// A worker waits in the join of `a`, and takes the unrelated `c`, which needs `a`.
#[test]
fn a_query_below_on_the_own_stack_is_computed_again() {
    let engine = engine(2, |key, events, context| match key {
        "a" => {
            let left = |_: &mut Context<'_, _>| events.wait("right");
            let right = |_: &mut Context<'_, _>| {
                events.tell("right");
                events.wait("c");
                1
            };
            Ok(context.join(left, right).1)
        }
        _ => {
            events.tell("c");
            Ok(context.get(&"a")? + 1)
        }
    });
    thread::scope(|threads| {
        threads.spawn(|| assert_eq!(engine.get(&"a"), Ok(1)));
        engine.rules().events.wait("right");
        assert_eq!(engine.get(&"c"), Ok(2));
    });
    let expected = Statistics {
        computed: 2,
        duplicated: 1,
        ..Statistics::default()
    };
    assert_eq!(engine.statistics(), expected);
}

// The first worker waits in the join of `a`. It leaves `c`, which needs `a`, to the other one.
#[test]
fn a_pool_that_isolates_waits_computes_no_query_above_one_that_it_needs() {
    let builder = ThreadPoolBuilder::new().num_threads(2);
    let builder = builder.isolation(Isolation::Subtree);
    let engine = engine_with_pool(builder, |key, events, context| match key {
        "a" => {
            let left = |_: &mut Context<'_, _>| events.wait("right");
            let right = |_: &mut Context<'_, _>| {
                events.tell("right");
                events.wait("c is wanted");
                // Time enough for the worker that waits.
                (0..10_000).for_each(|_| thread::yield_now());
                1
            };
            Ok(context.join(left, right).1)
        }
        _ => Ok(context.get(&"a")? + 1),
    });
    thread::scope(|threads| {
        threads.spawn(|| assert_eq!(engine.get(&"a"), Ok(1)));
        engine.rules().events.wait("right");
        threads.spawn(|| assert_eq!(engine.get(&"c"), Ok(2)));
        engine.rules().events.tell("c is wanted");
    });
    let statistics = engine.statistics();
    assert_eq!((statistics.computed, statistics.duplicated), (2, 0));
}

// A second computation that joins could run unrelated jobs too, above what waits for it already.
#[test]
fn a_second_computation_does_not_share_its_joins() {
    let is_second = AtomicBool::new(false);
    let engine = engine(2, move |key, events, context| match key {
        "a" if is_second.swap(true, Ordering::Relaxed) => {
            let begun = AtomicBool::new(false);
            let left = |_: &mut Context<'_, _>| {
                // Time enough for the other worker, which is idle.
                let mut looks = 0..10_000;
                looks.any(|_| {
                    thread::yield_now();
                    begun.load(Ordering::Relaxed)
                })
            };
            let right = |_: &mut Context<'_, _>| begun.store(true, Ordering::Relaxed);
            assert!(!context.join(left, right).0, "both sides at once");
            Ok(1)
        }
        "a" => {
            let left = |_: &mut Context<'_, _>| events.wait("right");
            let right = |_: &mut Context<'_, _>| {
                events.tell("right");
                events.wait("b");
            };
            context.join(left, right);
            Ok(1)
        }
        _ => {
            events.tell("b");
            context.get(&"a")
        }
    });
    thread::scope(|threads| {
        threads.spawn(|| assert_eq!(engine.get(&"a"), Ok(1)));
        engine.rules().events.wait("right");
        assert_eq!(engine.get(&"b"), Ok(1));
    });
    assert_eq!(engine.statistics().duplicated, 1);
}

// Two workers wait in the joins of `a` and `b`. The one below which `a` is takes `c` or `d`, which
// needs `b`; the other one takes the other, which needs `a`.
#[test]
fn queries_below_on_each_others_stacks_are_a_false_dependency() {
    static BEGUN_BY: [AtomicUsize; 2] = [const { AtomicUsize::new(usize::MAX) }; 2];
    let engine = engine(4, |key, events, context| match key {
        "a" | "b" => {
            let index = usize::from(key == "b");
            let worker = pool_std::current_thread_index().unwrap();
            // Ordering: Relaxed; the events order it.
            _ = BEGUN_BY[index].compare_exchange(
                usize::MAX,
                worker,
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
            let left = |_: &mut Context<'_, _>| {
                events.wait("right of a");
                events.wait("right of b");
            };
            let right = |_: &mut Context<'_, _>| {
                events.tell(format!("right of {key}"));
                events.wait("both wait");
                1 + index as u32
            };
            Ok(context.join(left, right).1)
        }
        _ => {
            let worker = pool_std::current_thread_index().unwrap();
            let above = BEGUN_BY.each_ref().map(|by| by.load(Ordering::Relaxed));
            let above = above.iter().position(|&by| by == worker).unwrap();
            let other = context.get(&["b", "a"][above])?;
            Ok([2, 1][above] * 10 + other)
        }
    });
    thread::scope(|threads| {
        threads.spawn(|| assert_eq!(engine.get(&"a"), Ok(1)));
        threads.spawn(|| assert_eq!(engine.get(&"b"), Ok(2)));
        let events = &engine.rules().events;
        events.wait("right of a");
        events.wait("right of b");
        let c = threads.spawn(|| engine.get(&"c").unwrap());
        let d = threads.spawn(|| engine.get(&"d").unwrap());
        wait_for_waits(&engine, 2);
        events.tell("both wait");
        let mut values = [c.join().unwrap(), d.join().unwrap()];
        values.sort_unstable();
        assert_eq!(values, [11, 22]);
    });
    assert_eq!(engine.cycles(), []);
    let expected = Statistics {
        computed: 4,
        duplicated: 1,
        waited: 2,
        false_dependencies: 1,
        ..Statistics::default()
    };
    assert_eq!(engine.statistics(), expected);
}

// No pool would report a deadlock of such a thread.
#[test]
fn a_thread_that_is_no_worker_computes_instead_of_waiting() {
    let is_first = AtomicBool::new(true);
    let engine = engine(2, move |key, events, context| match key {
        "a" => {
            events.wait("b");
            let get = || context.join(|context| context.get(&"b"), |_| ()).0;
            let answer = thread::scope(|threads| threads.spawn(get).join().unwrap());
            events.tell("a has b");
            answer
        }
        _ => {
            // Before the other computation can begin.
            let is_first = is_first.swap(false, Ordering::Relaxed);
            events.tell("b");
            if is_first {
                events.wait("a has b");
            }
            Ok(3)
        }
    });
    assert_eq!(engine.get_all(&["a", "b"]), [Ok(3), Ok(3)]);
    let expected = Statistics {
        computed: 2,
        duplicated: 1,
        ..Statistics::default()
    };
    assert_eq!(engine.statistics(), expected);
}

// That pool has no deadlock handler, and no part in the joins of the engine.
#[test]
fn a_worker_of_another_pool_computes_instead_of_waiting() {
    let other = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let is_first = AtomicBool::new(true);
    let engine = engine(2, move |key, events, context| match key {
        "a" => {
            events.wait("b");
            let here = || thread::current().id();
            let answer = other.install(|| {
                let begun = AtomicBool::new(false);
                let left = |context: &mut Context<'_, _>| {
                    (0..10_000).for_each(|_| thread::yield_now());
                    assert!(!begun.load(Ordering::Relaxed), "both sides at once");
                    (here(), context.get(&"b"))
                };
                let right = |_: &mut Context<'_, _>| {
                    begun.store(true, Ordering::Relaxed);
                    here()
                };
                let ((left, answer), right) = context.join(left, right);
                assert_eq!(left, right);
                answer
            });
            events.tell("a has b");
            answer
        }
        _ => {
            let is_first = is_first.swap(false, Ordering::Relaxed);
            events.tell("b");
            if is_first {
                events.wait("a has b");
            }
            Ok(3)
        }
    });
    assert_eq!(engine.get_all(&["a", "b"]), [Ok(3), Ok(3)]);
    assert_eq!(engine.statistics().waited, 0);
}

#[test]
fn a_query_on_a_cycle_of_waits_has_an_error_whatever_it_returns() {
    let engine = engine(2, |key, events, context| {
        let other = if key == "a" { "b" } else { "a" };
        events.tell(key);
        events.wait(other);
        context.get(&other).or(Ok(1))
    });
    assert!(engine.get_all(&["a", "b"]).iter().all(Result::is_err));
    assert_eq!(engine.statistics().deadlocks, 1);
}

// Otherwise it would count as blocked while it computes, and could neither wait again nor be
// reported.
#[test]
fn a_worker_whose_wait_closed_a_cycle_is_active_again() {
    let engine = engine(2, |key, events, context| {
        let other = if key == "a" { "b" } else { "a" };
        events.tell(key);
        events.wait(other);
        let answer = context.get(&other);
        let worker = pool_std::current_thread_index().unwrap();
        let state = pool_std::current_state();
        let activity = &state.workers()[worker].activity;
        assert!(!matches!(activity, Activity::Blocked(_)), "{state}");
        answer
    });
    assert!(engine.get_all(&["a", "b"]).iter().all(Result::is_err));
    assert_eq!(engine.statistics().deadlocks, 1);
}

#[test]
fn a_worker_that_is_marked_already_computes_instead_of_waiting() {
    let is_first = AtomicBool::new(true);
    let engine = engine(2, move |key, events, context| match key {
        "a" => {
            events.wait("b");
            let answer = pool_std::blocking("in vain", |_| context.get(&"b"));
            events.tell("a has b");
            answer
        }
        _ => {
            // Before the other computation can begin.
            let is_first = is_first.swap(false, Ordering::Relaxed);
            events.tell("b");
            if is_first {
                events.wait("a has b");
            }
            Ok(3)
        }
    });
    assert_eq!(engine.get_all(&["a", "b"]), [Ok(3), Ok(3)]);
    assert_eq!(engine.statistics().duplicated, 1);
}

#[test]
fn an_idle_engine_ends() {
    drop(engine(3, |_, _, _| Ok(1)));
}
