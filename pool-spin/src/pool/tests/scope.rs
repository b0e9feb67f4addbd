use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use super::*;

#[test]
fn smoke() {
    static POOL: SpinPool<TestCores<2, 64>> = pool(IdlePolicy::DEFAULT);
    const SPAWNS: u32 = if cfg!(miri) { 20 } else { 100 };
    with_workers(&POOL, || {
        let count = AtomicU32::new(0);
        let answer = POOL.install(|worker| {
            worker.scope(|scope| {
                for _ in 0..SPAWNS {
                    scope.spawn(|_, scope| {
                        count.fetch_add(1, SeqCst);
                        scope.spawn(|_, _| {
                            count.fetch_add(1, SeqCst);
                        });
                    });
                }
                7
            })
        });
        assert_eq!((answer, count.into_inner()), (7, 2 * SPAWNS));
    });
}

/// Checks that a full arena, or one without cells, costs parallelism, not closures.
#[test]
fn a_full_arena_runs_at_once() {
    static POOL: SpinPool<TestCores<1, 4>> = pool(IdlePolicy::DEFAULT);
    static ARENA: Arena<2> = Arena::new();
    let order = std::sync::Mutex::new(std::vec::Vec::new());
    POOL.run_with(0, |worker| {
        worker.scope_in(&ARENA, |scope| {
            for number in 0..4 {
                let order = &order;
                scope.spawn(move |_, _| order.lock().unwrap().push(number));
            }
        });
        worker.scope_in(&Arena::<0>::new(), |scope| {
            scope.spawn(|_, _| order.lock().unwrap().push(4));
        });
    })
    .unwrap();
    let mut order = order.into_inner().unwrap();
    assert_eq!(order[..2], [2, 3], "at once");
    order.sort();
    assert_eq!(order, [0, 1, 2, 3, 4]);
    assert!(std::format!("{ARENA:?}").contains("taken: 0"), "{ARENA:?}");
}

#[test]
fn in_place_scope_from_outside() {
    static POOL: SpinPool<TestCores<2, 64>> = pool(IdlePolicy::DEFAULT);
    const SPAWNS: u32 = if cfg!(miri) { 10 } else { 50 };
    with_workers(&POOL, || {
        let here = thread::current().id();
        let elsewhere = AtomicU32::new(0);
        let arena = Arena::<4>::new();
        POOL.in_place_scope(&arena, |scope| {
            assert_eq!(thread::current().id(), here);
            for _ in 0..SPAWNS {
                scope.spawn(|_, _| {
                    assert_ne!(thread::current().id(), here);
                    elsewhere.fetch_add(1, SeqCst);
                });
            }
        });
        assert_eq!(elsewhere.into_inner(), SPAWNS);
    });
}

/// Miri finds a worker that borrows from the frame of a scope after it has reported its last
/// closure: run it with `-Zmiri-many-seeds`.
#[test]
fn closures_borrow_no_longer_than_their_scope() {
    static POOL: SpinPool<TestCores<2, 64>> = pool(IdlePolicy::DEFAULT);
    const SCOPES: u32 = if cfg!(miri) { 5 } else { 1_000 };
    with_workers(&POOL, || {
        let arena = Arena::<1>::new();
        for number in 0..SCOPES {
            let number = std::boxed::Box::new(number);
            POOL.in_place_scope(&arena, |scope| {
                scope.spawn(|_, _| assert!(*number < SCOPES));
            });
            drop(number);
        }
    });
}

#[test]
fn destructors_of_captures_run() {
    static POOL: SpinPool<TestCores<1, 64>> = pool(IdlePolicy::DEFAULT);
    let value = Arc::new(());
    POOL.run_with(0, |worker| {
        worker.scope(|scope| {
            for _ in 0..40 {
                let value = value.clone();
                scope.spawn(move |_, _| drop(value));
            }
        });
    })
    .unwrap();
    assert_eq!(Arc::strong_count(&value), 1);
}
