//! What rayon-core documents of scopes.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
    thread,
};

use rayon_core::{
    Scope, ScopeFifo, ThreadPool, ThreadPoolBuilder, in_place_scope, in_place_scope_fifo, scope,
    scope_fifo,
};

fn pool(threads: usize) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(threads);
    builder.build().unwrap()
}

#[test]
fn smoke() {
    let mut values = [1, 2, 3];
    let result = scope(|scope| {
        for value in &mut values {
            scope.spawn(move |_| *value *= 2);
        }
        "result"
    });
    assert_eq!((values, result), ([2, 4, 6], "result"));
    scope::<_, ()>(|_| ());
    scope_fifo::<_, ()>(|_| ());
}

#[test]
fn jobs_spawn_jobs() {
    fn tree<'scope>(scope: &Scope<'scope>, count: &'scope AtomicUsize, depth: u32) {
        count.fetch_add(1, SeqCst);
        if depth > 0 {
            scope.spawn(move |scope| tree(scope, count, depth - 1));
            scope.spawn(move |scope| tree(scope, count, depth - 1));
        }
    }
    let count = AtomicUsize::new(0);
    scope(|scope| tree(scope, &count, 10));
    assert_eq!(count.into_inner(), 2047);
}

/// Returns the order in which jobs run that one worker spawned, and no other worker took.
fn order(spawn: impl FnOnce(&Mutex<Vec<u32>>) + Send) -> Vec<u32> {
    let order = Mutex::new(Vec::new());
    pool(1).install(|| spawn(&order));
    order.into_inner().unwrap()
}

#[test]
fn a_scope_runs_the_newest_first() {
    let result = order(|order| {
        scope(|scope| {
            for n in 0..5 {
                scope.spawn(move |_| order.lock().unwrap().push(n));
            }
        });
    });
    assert_eq!(result, [4, 3, 2, 1, 0]);
}

#[test]
fn a_fifo_scope_runs_the_oldest_first() {
    let result = order(|order| {
        scope_fifo(|scope| {
            for n in 0..5 {
                scope.spawn_fifo(move |_| order.lock().unwrap().push(n));
            }
        });
    });
    assert_eq!(result, [0, 1, 2, 3, 4]);
}

#[test]
fn nested_fifo_scopes_keep_orders_of_their_own() {
    let result = order(|order| {
        scope_fifo(|outer| {
            for i in 0..3 {
                outer.spawn_fifo(move |_| {
                    scope_fifo(|inner| {
                        for j in 0..3 {
                            inner.spawn_fifo(move |_| order.lock().unwrap().push(i * 10 + j));
                        }
                    });
                });
            }
        });
    });
    assert_eq!(result, [0, 1, 2, 10, 11, 12, 20, 21, 22]);
}

#[test]
fn a_scope_in_a_fifo_scope_runs_its_newest_first() {
    let result = order(|order| {
        scope_fifo(|outer| {
            for i in 0..3 {
                outer.spawn_fifo(move |_| {
                    scope(|inner| {
                        for j in 0..3 {
                            inner.spawn(move |_| order.lock().unwrap().push(i * 10 + j));
                        }
                    });
                });
            }
        });
    });
    assert_eq!(result, [2, 1, 0, 12, 11, 10, 22, 21, 20]);
}

#[test]
fn two_fifo_scopes_on_one_worker_keep_an_order_each() {
    let result = order(|order| {
        scope_fifo(|first| {
            scope_fifo(|second| {
                for n in 0..4 {
                    let scope = if n % 2 == 0 { first } else { second };
                    scope.spawn_fifo(move |_| order.lock().unwrap().push(n));
                }
            });
        });
    });
    // The worker takes its newest place first; whose turn it is, the scope of the place says.
    assert_eq!(result, [1, 0, 3, 2]);
}

fn spawn_chain<'scope>(scope: &Scope<'scope>, left: u32) {
    if left > 0 {
        scope.spawn(move |scope| spawn_chain(scope, left - 1));
    }
}

fn spawn_chain_fifo<'scope>(scope: &ScopeFifo<'scope>, left: u32) {
    if left > 0 {
        scope.spawn_fifo(move |scope| spawn_chain_fifo(scope, left - 1));
    }
}

#[test]
fn the_stack_does_not_grow_with_the_jobs() {
    let pool = ThreadPoolBuilder::new()
        .num_threads(2)
        .stack_size(64 * 1024)
        .build()
        .unwrap();
    pool.scope(|scope| spawn_chain(scope, 200_000));
    pool.scope_fifo(|scope| spawn_chain_fifo(scope, 200_000));
}

#[test]
fn jobs_outlive_the_body_and_not_the_scope() {
    let (done, body_is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    pool(2).scope(|scope| {
        for _ in 0..10 {
            scope.spawn(|_| {
                while !body_is_over.load(SeqCst) {
                    thread::yield_now();
                }
                done.fetch_add(1, SeqCst);
            });
        }
        assert_eq!(done.load(SeqCst), 0);
        body_is_over.store(true, SeqCst);
    });
    assert_eq!(done.into_inner(), 10);
}

#[test]
fn a_panic_is_continued_when_all_jobs_have_ended() {
    let pool = pool(2);
    for culprit in 0..10 {
        let done = AtomicUsize::new(0);
        let result = catch_unwind(AssertUnwindSafe(|| {
            pool.scope(|scope| {
                for n in 0..10 {
                    let done = &done;
                    scope.spawn(move |_| {
                        if n == culprit {
                            panic!("job {n}");
                        }
                        done.fetch_add(1, SeqCst);
                    });
                }
            });
        }));
        let panic = result.unwrap_err();
        assert_eq!(
            *panic.downcast_ref::<String>().unwrap(),
            format!("job {culprit}")
        );
        assert_eq!(done.into_inner(), 9);
    }
}

#[test]
fn the_first_panic_is_the_one_that_is_continued() {
    let result = catch_unwind(|| {
        pool(1).scope(|scope| {
            scope.spawn(|_| panic!("later, for it was spawned first"));
            scope.spawn(|_| panic!("first"));
        });
    });
    assert_eq!(
        *result.unwrap_err().downcast_ref::<&str>().unwrap(),
        "first"
    );
    let result = catch_unwind(|| {
        pool(1).scope(|scope| {
            scope.spawn(|_| panic!("job"));
            panic!("body");
        });
    });
    assert_eq!(*result.unwrap_err().downcast_ref::<&str>().unwrap(), "body");
}

#[test]
fn jobs_that_were_spawned_before_the_body_panicked_are_run() {
    let done = AtomicUsize::new(0);
    let result = catch_unwind(AssertUnwindSafe(|| {
        pool(2).scope(|scope| {
            scope.spawn(|scope| {
                scope.spawn(|_| {
                    done.fetch_add(1, SeqCst);
                });
            });
            panic!("body");
        });
    }));
    assert!(result.is_err());
    assert_eq!(done.into_inner(), 1);
}

#[test]
fn the_body_of_an_in_place_scope_stays_on_its_thread() {
    let here = thread::current().id();
    let not_send = std::rc::Rc::new(7);
    let mut values = [0; 8];
    let pool = pool(2);
    let result = pool.in_place_scope(|scope| {
        assert_eq!(thread::current().id(), here);
        for value in &mut values {
            scope.spawn(move |_| {
                assert_ne!(thread::current().id(), here);
                *value = 1;
            });
        }
        not_send.clone()
    });
    assert_eq!((*result, values), (7, [1; 8]));

    let order = Mutex::new(Vec::new());
    ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .unwrap()
        .in_place_scope_fifo(|scope| {
            for n in 0..5 {
                let order = &order;
                scope.spawn_fifo(move |_| order.lock().unwrap().push(n));
            }
            let _stays = &not_send;
        });
    assert_eq!(order.into_inner().unwrap(), [0, 1, 2, 3, 4]);

    in_place_scope(|scope| scope.spawn(|_| ()));
    in_place_scope_fifo(|scope| scope.spawn_fifo(|_| ()));
}

#[test]
fn an_in_place_scope_on_a_worker_of_another_pool_waits_for_it() {
    let (near, far) = (pool(1), pool(1));
    let count = AtomicUsize::new(0);
    near.install(|| {
        far.in_place_scope(|scope| {
            for _ in 0..100 {
                scope.spawn(|_| {
                    assert!(far.current_thread_index().is_some());
                    count.fetch_add(1, SeqCst);
                });
            }
        });
    });
    assert_eq!(count.into_inner(), 100);
}

#[test]
fn a_scope_spawned_from_another_thread_takes_jobs() {
    let count = AtomicUsize::new(0);
    pool(2).in_place_scope(|scope| {
        thread::scope(|threads| {
            for _ in 0..2 {
                threads.spawn(|| {
                    for _ in 0..100 {
                        scope.spawn(|_| {
                            count.fetch_add(1, SeqCst);
                        });
                    }
                });
            }
        });
    });
    assert_eq!(count.into_inner(), 200);
}

#[test]
fn a_broadcast_in_a_scope_reaches_every_worker() {
    let seen = Mutex::new(Vec::new());
    let pool = pool(3);
    pool.scope(|scope| {
        scope.spawn_broadcast(|scope, context| {
            let seen = &seen;
            let index = context.index();
            scope.spawn(move |_| seen.lock().unwrap().push(index));
        });
    });
    pool.scope_fifo(|scope| {
        scope.spawn_broadcast(|_, context| seen.lock().unwrap().push(context.index()));
    });
    let mut seen = seen.into_inner().unwrap();
    seen.sort_unstable();
    assert_eq!(seen, [0, 0, 1, 1, 2, 2]);
}

#[test]
fn a_panic_in_a_broadcast_of_a_scope_is_continued() {
    let result = catch_unwind(|| {
        pool(3).scope(|scope| {
            scope.spawn_broadcast(|_, context| assert_ne!(context.index(), 1, "worker"));
        });
    });
    assert!(result.is_err());
}
