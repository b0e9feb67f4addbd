//! Panics of queries that others wait for.

use super::*;

#[test]
fn a_panic_reaches_the_queries_that_wait_and_the_engine_goes_on() {
    let panics = AtomicBool::new(true);
    let engine = engine(2, move |key, events, context| match key {
        "a" => {
            events.tell("a");
            events.wait("b waits");
            assert!(!panics.swap(false, Ordering::Relaxed), "by design");
            Ok(1)
        }
        _ => {
            events.wait("a");
            context.get(&"a")
        }
    });
    thread::scope(|threads| {
        let a = threads.spawn(|| engine.get(&"a"));
        engine.rules().events.wait("a");
        let b = threads.spawn(|| engine.get(&"b"));
        wait_for_waits(&engine, 1);
        engine.rules().events.tell("b waits");
        let panic = a.join().unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&"by design"));
        let panic = b.join().unwrap_err();
        let expected = "the computation of \"a\" panicked".to_owned();
        assert_eq!(panic.downcast_ref(), Some(&expected));
    });
    assert_eq!(engine.get_all(&["a", "b"]), [Ok(1), Ok(1)]);
}

// Otherwise the query would stay in progress, and its next computation would do without joins, as
// one for which a worker must not wait.
#[test]
fn a_query_that_panicked_is_computed_anew_with_joins() {
    let panics = AtomicBool::new(true);
    let engine = engine(1, move |_, _, context| {
        assert!(!panics.swap(false, Ordering::Relaxed), "by design");
        let is_run = AtomicBool::new(false);
        let left = |_: &mut Context<'_, _>| {
            // The only worker takes the other side, if that is a job.
            pool_std::yield_local();
            is_run.load(Ordering::Relaxed)
        };
        let right = |_: &mut Context<'_, _>| is_run.store(true, Ordering::Relaxed);
        Ok(u32::from(context.join(left, right).0))
    });
    let panic = catch_unwind(AssertUnwindSafe(|| engine.get(&"a"))).unwrap_err();
    assert_eq!(panic.downcast_ref(), Some(&"by design"));
    assert_eq!(engine.get(&"a"), Ok(1));
}

#[test]
fn a_panic_in_one_side_of_a_join_leaves_no_query_in_progress() {
    let panics = AtomicBool::new(true);
    let engine = engine(2, move |key, _, context| match key {
        "root" => context.get_all(&["a", "b", "c", "d"]).into_iter().sum(),
        "c" if panics.swap(false, Ordering::Relaxed) => panic!("by design"),
        _ => Ok(1),
    });
    let panic = catch_unwind(AssertUnwindSafe(|| engine.get(&"root"))).unwrap_err();
    assert_eq!(panic.downcast_ref(), Some(&"by design"));
    assert_eq!(engine.get(&"root"), Ok(4));
}
