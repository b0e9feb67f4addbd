//! Scopes as users see them.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Barrier, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
};

use pool_std::{
    Scope, ThreadPool, ThreadPoolBuilder, in_place_scope, in_place_scope_fifo, scope, scope_fifo,
};

fn pool(threads: usize) -> ThreadPool {
    ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .unwrap()
}

const MANY: usize = if cfg!(miri) { 100 } else { 100_000 };
const DEPTH: u32 = if cfg!(miri) { 3 } else { 10 };

#[test]
fn smoke() {
    let counter = AtomicUsize::new(0);
    let answer = scope(|scope| {
        for _ in 0..100 {
            scope.spawn(|_| {
                counter.fetch_add(1, SeqCst);
            });
        }
        "done"
    });
    assert_eq!((answer, counter.into_inner()), ("done", 100));
}

#[test]
fn jobs_spawn_jobs() {
    fn grow<'scope>(scope: &Scope<'scope>, counter: &'scope AtomicUsize, depth: u32) {
        counter.fetch_add(1, SeqCst);
        if depth > 0 {
            scope.spawn(move |scope| grow(scope, counter, depth - 1));
            scope.spawn(move |scope| grow(scope, counter, depth - 1));
        }
    }
    let counter = AtomicUsize::new(0);
    pool(2).scope(|scope| grow(scope, &counter, DEPTH));
    assert_eq!(counter.into_inner(), (1 << (DEPTH + 1)) - 1);
}

/// More jobs than one batch has, and fewer, also from outside and from a job.
#[test]
fn jobs_spawned_together_are_all_run() {
    let pool = pool(2);
    let counts: &[usize] = match cfg!(miri) {
        true => &[0, 65],
        false => &[0, 1, 63, 64, 65, 200],
    };
    for &count in counts {
        let counter = AtomicUsize::new(0);
        let add = |_: &Scope<'_>| _ = counter.fetch_add(1, SeqCst);
        pool.scope(|scope| scope.spawn_many((0..count).map(|_| add)));
        pool.in_place_scope(|scope| scope.spawn_many((0..count).map(|_| add)));
        pool.scope(|scope| {
            scope.spawn(|scope| scope.spawn_many((0..count).map(|_| add)));
        });
        assert_eq!(counter.into_inner(), 3 * count);
    }
}

/// Checks that the jobs that an iterator has given before its panic are run, and the scope waits
/// for them.
#[test]
fn an_iterator_that_panics_loses_no_job() {
    for pool in [pool(1), pool(2)] {
        for given in [0, 1, if cfg!(miri) { 2 } else { 70 }] {
            let counter = AtomicUsize::new(0);
            let add = |_: &Scope<'_>| _ = counter.fetch_add(1, SeqCst);
            let jobs = (0..).map(|number| {
                assert!(number < given, "no more");
                add
            });
            let result = catch_unwind(AssertUnwindSafe(|| {
                pool.scope(|scope| scope.spawn_many(jobs));
            }));
            assert!(result.is_err());
            assert_eq!(counter.load(SeqCst), given);
        }
    }
}

// One worker, so that no job is stolen: newest first, or in order.
#[test]
fn order() {
    let pool = pool(1);
    let numbers = Mutex::new(Vec::new());
    let note = |number| numbers.lock().unwrap().push(number);
    pool.scope(|scope| (0..5).for_each(|number| scope.spawn(move |_| note(number))));
    assert_eq!(*numbers.lock().unwrap(), [4, 3, 2, 1, 0]);

    numbers.lock().unwrap().clear();
    pool.scope_fifo(|scope| (0..5).for_each(|number| scope.spawn_fifo(move |_| note(number))));
    assert_eq!(*numbers.lock().unwrap(), [0, 1, 2, 3, 4]);

    numbers.lock().unwrap().clear();
    pool.in_place_scope_fifo(|scope| {
        (0..5).for_each(|number| scope.spawn_fifo(move |_| note(number)));
    });
    assert_eq!(*numbers.lock().unwrap(), [0, 1, 2, 3, 4]);
}

#[test]
fn a_breadth_first_pool_runs_the_oldest_first() {
    let pool = ThreadPoolBuilder::new()
        .num_threads(1)
        .breadth_first()
        .build()
        .unwrap();
    let numbers = Mutex::new(Vec::new());
    pool.scope(|scope| {
        for number in 0..5 {
            let numbers = &numbers;
            scope.spawn(move |_| numbers.lock().unwrap().push(number));
        }
    });
    assert_eq!(*numbers.lock().unwrap(), [0, 1, 2, 3, 4]);
}

#[test]
fn in_place_runs_the_body_here() {
    let here = std::thread::current().id();
    let not_send = std::rc::Rc::new(5);
    let counter = AtomicUsize::new(0);
    let value = in_place_scope(|scope| {
        scope.spawn(|_| {
            assert_ne!(std::thread::current().id(), here);
            counter.fetch_add(1, SeqCst);
        });
        assert_eq!(std::thread::current().id(), here);
        *not_send
    });
    assert_eq!((value, counter.load(SeqCst)), (5, 1));
    in_place_scope_fifo(|scope| scope.spawn_fifo(|_| _ = counter.fetch_add(1, SeqCst)));
    assert_eq!(counter.load(SeqCst), 2);
}

// In place on a worker of one pool, with the jobs on another.
#[test]
fn in_place_across_pools() {
    let (first, second) = (pool(1), pool(1));
    for _ in 0..if cfg!(miri) { 3 } else { 50 } {
        let ran = AtomicUsize::new(0);
        first.install(|| {
            second.in_place_scope(|scope| {
                scope.spawn(|_| {
                    assert!(second.current_thread_index().is_some());
                    ran.fetch_add(1, SeqCst);
                });
            });
        });
        assert_eq!(ran.into_inner(), 1);
    }
}

#[test]
fn panics() {
    let pool = pool(2);
    for in_body in [true, false] {
        let ended = AtomicUsize::new(0);
        let panic = catch_unwind(AssertUnwindSafe(|| {
            pool.scope(|scope| {
                for _ in 0..10 {
                    scope.spawn(|_| {
                        ended.fetch_add(1, SeqCst);
                        if !in_body {
                            std::panic::panic_any("job");
                        }
                    });
                }
                if in_body {
                    std::panic::panic_any("body");
                }
            });
        }))
        .unwrap_err();
        assert_eq!(
            *panic.downcast::<&str>().unwrap(),
            if in_body { "body" } else { "job" }
        );
        assert_eq!(
            ended.into_inner(),
            10,
            "all have ended before the panic goes on"
        );
    }
}

/// A result that no caller gets must not hide why.
#[test]
fn the_panic_of_a_job_goes_on_if_the_drop_of_the_result_panics() {
    struct PanicsOnDrop;
    impl Drop for PanicsOnDrop {
        fn drop(&mut self) {
            std::panic::panic_any("drop");
        }
    }
    let pool = pool(2);
    let scope = AssertUnwindSafe(|| {
        pool.in_place_scope(|scope| {
            scope.spawn(|_| std::panic::panic_any("job"));
            PanicsOnDrop
        })
    });
    let panic = catch_unwind(scope).map(std::mem::forget).unwrap_err();
    assert_eq!(panic.downcast_ref(), Some(&"job"));
}

#[test]
fn broadcasts_in_scopes() {
    let pool = pool(3);
    let sum = AtomicUsize::new(0);
    pool.scope(|scope| {
        scope.spawn_broadcast(|_, context| {
            sum.fetch_add(context.index() + 1, SeqCst);
        });
    });
    pool.install(|| {
        scope_fifo(|scope| {
            scope.spawn_broadcast(|_, context| {
                assert_eq!(context.num_threads(), 3);
                sum.fetch_add(context.index() + 1, SeqCst);
            });
        });
    });
    assert_eq!(sum.into_inner(), 12);
}

// The stack does not grow with the number of jobs.
#[test]
fn constant_stack() {
    let pool = ThreadPoolBuilder::new()
        .num_threads(1)
        .stack_size(128 << 10)
        .build()
        .unwrap();
    let counter = AtomicUsize::new(0);
    pool.scope(|scope| {
        for _ in 0..MANY {
            scope.spawn(|_| {
                counter.fetch_add(1, SeqCst);
            });
        }
    });
    assert_eq!(counter.into_inner(), MANY);
}

/// Spawns jobs that wait for each other, two by two and three by three, while thieves move jobs to
/// their own deques: a job that lies below one that waits is taken by another worker, which may
/// have been asleep. The test would not end.
#[test]
fn jobs_that_meet_are_taken_from_wherever_they_were_moved() {
    for threads in [2, 3, if cfg!(miri) { 3 } else { 8 }] {
        let pool = pool(threads);
        for round in 0..if cfg!(miri) { 1 } else { 300 } {
            let together = threads.min(3);
            let meeting = Barrier::new(together);
            pool.scope(|scope| {
                for _ in 0..if cfg!(miri) { 2 } else { 6 } * together {
                    scope.spawn(|_| _ = meeting.wait());
                }
                // Lets workers fall asleep, or not.
                if round % 3 == 0 {
                    std::thread::yield_now();
                }
            });
        }
    }
}
