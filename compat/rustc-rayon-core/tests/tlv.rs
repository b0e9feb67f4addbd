//! The value that follows jobs, where the original says so too.

mod values;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Barrier, Mutex, mpsc},
};

use rayon_core::{
    ThreadPool, ThreadPoolBuilder, broadcast, in_place_scope, in_place_scope_fifo, join,
    join_context, scope, scope_fifo, spawn, spawn_fifo,
};
use values::{set, value, with};

fn pool(threads: usize) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(threads);
    builder.build().unwrap()
}

#[test]
fn a_thread_begins_with_null() {
    assert_eq!(value(), 0);
    assert_eq!(pool(2).broadcast(|_| value()), [0, 0]);
}

#[test]
fn both_closures_of_a_join() {
    pool(1).install(|| {
        with(7, || assert_eq!(join(value, value), (7, 7)));
        with(8, || {
            assert_eq!(join_context(|_| value(), |_| value()), (8, 8))
        });
        assert_eq!(value(), 0);
    });
}

#[test]
fn a_stolen_closure() {
    let both = Barrier::new(2);
    let met = || {
        both.wait();
        value()
    };
    pool(2).install(|| {
        with(7, || {
            assert_eq!(join(met, met), (7, 7));
            let migrated = join_context(|_| met(), |context| (context.migrated(), met()));
            assert_eq!(migrated, (7, (true, 7)));
            assert_eq!(value(), 7);
        });
    });
}

#[test]
fn every_level_of_a_tree_has_its_own() {
    fn tree(depth: usize, parent: usize) -> usize {
        assert_eq!(value(), parent);
        if depth == 0 {
            return 1;
        }
        let own = parent * 2 + 1;
        let leaves = with(own, || {
            let halves = join(|| tree(depth - 1, own), || tree(depth - 1, own));
            assert_eq!(value(), own);
            halves.0 + halves.1
        });
        assert_eq!(value(), parent);
        leaves
    }
    assert_eq!(pool(4).install(|| tree(12, 0)), 1 << 12);
}

#[test]
fn a_panic_restores_the_value() {
    let panicking = || -> () { panic!("on purpose") };
    let caught = |closure: &(dyn Fn() + Sync)| {
        assert!(catch_unwind(AssertUnwindSafe(closure)).is_err());
    };
    for threads in [1, 2] {
        pool(threads).install(|| {
            with(7, || {
                caught(&|| _ = join(panicking, || with(8, value)));
                assert_eq!(value(), 7);
                caught(&|| _ = join(|| with(8, value), panicking));
                assert_eq!(value(), 7);
                caught(&|| {
                    scope(|scope| {
                        scope.spawn(|_| {
                            set(9);
                            panic!("on purpose");
                        });
                    })
                });
                assert_eq!(value(), 7);
            });
        });
    }
}

#[test]
fn the_jobs_of_a_scope_have_the_value_that_it_was_created_with() {
    let seen = Mutex::new(Vec::new());
    let see = || seen.lock().unwrap().push(value());
    pool(2).install(|| {
        with(7, || {
            scope(|scope| {
                with(8, || {
                    scope.spawn(|scope| {
                        see();
                        with(9, || scope.spawn(|_| see()));
                    })
                });
            });
            assert_eq!(value(), 7);
            scope_fifo(|scope| {
                with(8, || {
                    scope.spawn_fifo(|scope| {
                        see();
                        with(9, || scope.spawn_fifo(|_| see()));
                    })
                });
            });
            assert_eq!(value(), 7);
        });
    });
    assert_eq!(seen.into_inner().unwrap(), [7; 4]);
}

#[test]
fn the_jobs_of_a_scope_in_place() {
    let seen = Mutex::new(Vec::new());
    let see = || seen.lock().unwrap().push(value());
    let pool = pool(2);
    with(7, || {
        pool.in_place_scope(|scope| {
            see();
            scope.spawn(|_| see());
        });
        pool.in_place_scope_fifo(|scope| {
            see();
            scope.spawn_fifo(|_| see());
        });
        in_place_scope(|scope| scope.spawn(|_| see()));
        in_place_scope_fifo(|scope| scope.spawn_fifo(|_| see()));
        assert_eq!(value(), 7);
    });
    assert_eq!(seen.into_inner().unwrap(), [7; 6]);
}

#[test]
fn every_worker_of_a_broadcast() {
    let pool = pool(3);
    with(7, || assert_eq!(pool.broadcast(|_| value()), [7; 3]));
    pool.install(|| with(8, || assert_eq!(broadcast(|_| value()), [8; 3])));
    assert_eq!(value(), 0);
}

// What the spawner's value points to may have ended when the job begins.
#[test]
fn a_spawned_job_begins_with_null() {
    for threads in [1, 2] {
        let pool = pool(threads);
        let (sender, receiver) = mpsc::channel();
        let send = || {
            let sender = sender.clone();
            move || sender.send(value()).unwrap()
        };
        with(7, || {
            pool.spawn(send());
            pool.spawn_fifo(send());
            pool.install(|| {
                with(8, || {
                    spawn(send());
                    spawn_fifo(send());
                });
            });
        });
        drop(sender);
        assert!(receiver.iter().eq([0; 4]));
    }
}

#[test]
fn a_worker_has_its_value_again_after_jobs_that_it_ran_in_a_wait() {
    // One worker: all jobs are run while it waits for the scope or the join.
    pool(1).install(|| {
        with(7, || {
            scope(|scope| {
                for level in 0..4 {
                    scope.spawn(move |_| {
                        with(10 + level, || {
                            spawn(|| _ = set(99));
                            join(value, value);
                        });
                    });
                }
            });
            assert_eq!(value(), 7);
            join(|| spawn(|| _ = set(99)), || ());
            assert_eq!(value(), 7);
        });
    });
}
